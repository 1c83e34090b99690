

class Looker(Describer):
    """Also notes whether the value contains a type of the project."""

    own = False

    def of(self, value, depth):
        self.own = self.own or is_of_the_project(type(value))
        return super().of(value, depth)


HERE = os.getcwd() + "/"


def is_of_the_project(kind):
    module = sys.modules.get(getattr(kind, "__module__", None))
    file = str(getattr(module, "__file__", None) or "")
    return file.startswith(HERE) and "site-packages" not in file


def leaves(description):
    if "text" in description:
        yield description["text"]
    inside = [*description.get("items", ()), *description.get("fields", {}).values()]
    for pair in description.get("pairs", ()):
        inside.extend(pair)
    for one in inside:
        yield from leaves(one)


def look(log, number, side, value):
    looker = Looker(consume=False)
    content = list(leaves(looker.of(value, 0)))
    line = {"looked": number, "side": side, "own": looker.own, "content": content}
    with open(log, "ab", buffering=0) as file:
        file.write((json.dumps(line) + "\n").encode())
