"""Records every call of a module's functions and methods from outside of it while the tests run. Also records how the
test functions themselves end, which may differ from what the test runner reports.

It uses Python's tracing, so the stack contains no frame of redgreen while the code runs, and functions, classes and
generators are not wrapped.
"""

import atexit
import dis
import inspect
import threading

CALLS_MAX = 400
CALLS_OF_ONE_MAX = 40
ARGUMENT_BYTES_MAX = 1 << 15
LOG_BYTES_MAX = 4 << 20
OBJECTS_MAX = 400
TESTS_MAX = 5000
# Their results do not matter to callers, or Python calls them implicitly.
UNSEEN = ("__new__", "__del__", "__getattribute__", "__repr__", "__hash__", "__getstate__", "__setstate__", "__reduce__")
RETURNS = {"RETURN_VALUE", "RETURN_CONST"}
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Entry:
    """A recorded function, and how it is called."""

    def __init__(self, module, name, kind, function):
        self.module, self.name, self.kind, self.function = module, name, kind, function
        self.calls = 0


class Call:
    def __init__(self, entry, number):
        self.entry, self.number = entry, number
        self.args, self.kwargs, self.made = (), {}, None
        self.pickled, self.touches, self.by_state = None, [], False
        self.items, self.output = [], None


class Pickler(pickle.Pickler):
    """Represents an object of a watched module by the number of the call that created it, if that was recorded."""

    def __init__(self, file, recorder):
        super().__init__(file, protocol=4)
        self.recorder, self.touches, self.by_state = recorder, [], False

    def persistent_id(self, value):
        known = self.recorder.objects.get(id(value))
        if known is not None and known[0] is value:
            self.touches.append(known[1])
            return known[1]
        kind = type(value)
        if kind.__module__ in self.recorder.modules and not issubclass(kind, (type, enum.Enum)):
            self.by_state = True
        return None


class Recorder:
    def __init__(self, log, tests):
        self.log = log
        self.tests, self.ended, self.known_tests = tests, 0, {}
        self.modules, self.entries, self.pending, self.objects, self.known = set(), {}, {}, {}, set()
        self.number, self.bytes, self.written, self.left_out = os.getpid() << 20, 0, 0, 0
        self.here = threading.local()
        self.lock = threading.RLock()
        self.opcodes = {}
        here = os.getcwd()
        near = [os.path.relpath(one or here, here) for one in sys.path if not one or one == here or one.startswith(here + "/")]
        self.write({"path": near})
        self.files = {file for file, _ in tests}
        self.own_files, self.replaced = set(), set()
        frame = sys._getframe()
        while frame is not None:
            self.follow(frame)
            frame = frame.f_back
        atexit.register(self.check)

    def follow(self, frame):
        """Follows a test file that this process loads while tracing is on: none of its functions can have run before."""
        if frame.f_code.co_name == "<module>":
            loading = [file for file in self.files if is_in(frame.f_code.co_filename, file)]
            self.files.difference_update(loading)
            if loading:
                self.tell_of_tests({"follows": loading})

    def check(self):
        """Reports the record as incomplete if other code replaced the trace function."""
        self.look()
        if sys.gettrace() != self.trace:
            self.tell_of_tests({"lost": True})

    def look(self):
        """Tests use the language to compare, so replaced functions of the language also affect them."""
        for name in language(self.is_own):
            if name not in self.replaced:
                self.replaced.add(name)
                self.tell_of_tests({"replaces": name})

    def is_own(self, value):
        """Whether a watched module defines it."""
        value = getattr(value, "func", value) if type(value).__module__ == "functools" else value
        value = getattr(value, "__func__", value) if isinstance(value, (staticmethod, classmethod)) else value
        value = value.fget if isinstance(value, property) else value
        if inspect.isfunction(value):
            return value.__code__.co_filename in self.own_files
        kind = value if isinstance(value, type) else type(value)
        return str(getattr(kind, "__module__", "")) in self.modules

    def tell_of_tests(self, line):
        self.ended += 1
        if self.ended <= TESTS_MAX:
            with open(self.log, "ab", buffering=0) as file:
                file.write((json.dumps(line) + "\n").encode())
        elif self.ended == TESTS_MAX + 1:
            self.ended = 0
            self.tell_of_tests({"lost": True})
            self.ended = TESTS_MAX + 2

    def test_of(self, code):
        """The test that a function is, by its file and name."""
        if code not in self.known_tests:
            found = [one for one in self.tests if one[1] == code.co_name and is_in(code.co_filename, one[0])]
            self.known_tests[code] = found[0] if found else None
        return self.known_tests[code]

    def trace_test(self, frame, event, argument):
        if event == "return":
            operation = self.operation(frame)
            if operation in RETURNS:
                self.tell_of_tests({"test": self.test_of(frame.f_code), "returned": True})
            elif operation not in ("YIELD_VALUE", "RETURN_GENERATOR"):
                self.tell_of_tests({"test": self.test_of(frame.f_code), "returned": False})
        return self.trace_test

    def write(self, line):
        data = (json.dumps(line) + "\n").encode()
        self.bytes += len(data)
        if self.bytes > LOG_BYTES_MAX:
            return False
        with open(self.log, "ab", buffering=0) as file:
            file.write(data)
        return True

    def watch(self, name, file, namespace):
        self.modules.add(name)
        self.own_files.add(file)
        for key, value in list(namespace.items()):
            if inspect.isclass(value) and value.__module__ == name:
                self.watch_class(name, key, value)
                continue
            function = inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else None
            if inspect.isfunction(function) and function.__code__.co_filename == file:
                self.entries.setdefault(function.__code__, Entry(name, key, "function", function))
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def watch_class(self, module, path, kind):
        for key, value in list(vars(kind).items()):
            way = "method"
            if isinstance(value, (staticmethod, classmethod)):
                way, value = type(value).__name__, value.__func__
            elif isinstance(value, property):
                way, value = "property", value.fget
            if inspect.isclass(value) and value.__module__ == module and value.__qualname__ == path + "." + key:
                self.watch_class(module, path + "." + key, value)
            function = inspect.unwrap(value) if inspect.isroutine(value) else None
            if not inspect.isfunction(function) or key in UNSEEN:
                continue
            way = "make" if key == "__init__" else way
            name = path if way == "make" else path + "." + key
            self.entries.setdefault(function.__code__, Entry(module, name, way, function))

    def trace(self, frame, event, argument):
        entry = self.entries.get(frame.f_code)
        if entry is None and event == "call" and self.test_of(frame.f_code):
            frame.f_trace_lines = False
            return self.trace_test
        if event == "call" and self.files:
            self.follow(frame)
        if entry is None or event != "call":
            return None
        if id(frame) not in self.pending and not self.begin(frame, entry):
            return None
        frame.f_trace_lines = False
        return self.trace_inside

    def trace_inside(self, frame, event, argument):
        call = self.pending.get(id(frame))
        if call is None:
            return None
        if event == "exception":
            call.error = argument[1]
        elif event == "return":
            operation = self.operation(frame)
            if operation in RETURNS:
                self.end(frame, call, None, argument)
            elif operation == "YIELD_VALUE" and frame.f_code.co_flags & inspect.CO_GENERATOR:
                if len(call.items) < ITEMS_MAX:
                    call.items.append(describe(argument))
            elif operation not in ("YIELD_VALUE", "RETURN_GENERATOR"):
                self.end(frame, call, getattr(call, "error", None), None)
        return self.trace_inside

    def operation(self, frame):
        code = frame.f_code
        if code not in self.opcodes:
            self.opcodes[code] = code.co_code
        at = frame.f_lasti
        return dis.opname[self.opcodes[code][at]] if 0 <= at < len(self.opcodes[code]) else ""

    def begin(self, frame, entry):
        if getattr(self.here, "busy", False) or getattr(self.here, "outer", None) is not None:
            return False
        self.here.busy = True
        try:
            with self.lock:
                return self.note(frame, entry)
        except Exception:
            self.left_out += 1
            return False
        finally:
            self.here.busy = False

    def note(self, frame, entry):
        self.number += 1
        call = Call(entry, self.number)
        call.args, call.kwargs = arguments(frame, entry.function)
        if entry.kind == "make":
            call.made, call.args = call.args[0], call.args[1:]
            if type(call.made).__module__ != entry.module or type(call.made).__qualname__ != entry.name:
                return False
        entry.calls += 1
        if entry.calls <= CALLS_OF_ONE_MAX and self.written < CALLS_MAX:
            self.serialise(call)
        if call.pickled is None:
            self.forget([*call.args, *call.kwargs.values()])
            return False
        key = (entry.module, entry.name, call.pickled)
        if not call.touches and entry.kind != "make":
            if key in self.known:
                return False
            self.known.add(key)
        self.pending[id(frame)] = call
        call.frame = frame
        if not frame.f_code.co_flags & SUSPENDED:
            self.here.outer = call
            call.output = Output()
        return True

    def serialise(self, call):
        file = io.BytesIO()
        pickler = Pickler(file, self)
        try:
            pickler.dump((call.args, call.kwargs))
        except Exception:
            self.left_out += 1
            return
        if file.tell() <= ARGUMENT_BYTES_MAX:
            call.pickled, call.touches, call.by_state = file.getvalue(), pickler.touches, pickler.by_state
        else:
            self.left_out += 1

    def forget(self, values):
        """Drops objects whose history is no longer complete."""
        for value in values:
            self.objects.pop(id(value), None)

    def end(self, frame, call, error, value):
        self.pending.pop(id(frame), None)
        if getattr(self.here, "outer", None) is call:
            self.here.outer = None
        output = call.output.end() if call.output else None
        self.here.busy = True
        try:
            with self.lock:
                self.tell(call, error, value, output)
        except Exception:
            self.left_out += 1
        finally:
            self.here.busy = False

    def tell(self, call, error, value, output):
        entry = call.entry
        if error is not None:
            outcome = ended(error)
        elif entry.kind == "make":
            outcome = {"gives": describe(call.made)}
            self.remember(call.made, call)
        elif call.items or entry.function.__code__.co_flags & inspect.CO_GENERATOR:
            outcome = {"gives": {"is": "iterator", "items": call.items}}
        else:
            outcome = {"gives": describe(value)}
            self.remember(value, call)
        given = call.args[1:] if entry.kind == "classmethod" else call.args
        outcome["after"] = [describe(one) for one in [*given, *call.kwargs.values()]]
        outcome["output"] = output
        line = {"number": call.number, "module": entry.module, "name": entry.name, "kind": entry.kind}
        line["args"] = base64.b64encode(call.pickled).decode()
        line["touches"], line["byState"], line["outcome"] = call.touches, call.by_state, outcome
        self.written += 1
        if not self.write(line):
            self.forget([call.made, value, *call.args, *call.kwargs.values()])

    def remember(self, value, call):
        kind = type(value)
        own = kind.__module__ in self.modules and not issubclass(kind, (type, enum.Enum))
        if own and id(value) not in self.objects and len(self.objects) < OBJECTS_MAX:
            self.objects[id(value)] = (value, call.number)


def is_in(path, file):
    """Whether an absolute path is the file, which is relative to the root of the project."""
    return path == file or path.endswith("/" + file)


def arguments(frame, function):
    """The arguments of the call, without those that equal their defaults."""
    code, local = frame.f_code, frame.f_locals
    names = code.co_varnames
    count, only = code.co_argcount, code.co_kwonlyargcount
    values = [local[name] for name in names[:count]]
    more = only + count
    rest = ()
    if code.co_flags & inspect.CO_VARARGS:
        rest = local[names[more]]
        more += 1
    kwargs = dict(local[names[more]]) if code.co_flags & inspect.CO_VARKEYWORDS else {}
    by_name = function.__kwdefaults__ or {}
    for name in names[count : count + only]:
        if name not in by_name or by_name[name] is not local[name]:
            kwargs[name] = local[name]
    defaults = list(function.__defaults__ or ())
    while defaults and not rest and values and values[-1] is defaults[-1]:
        defaults.pop()
        values.pop()
    return (*values, *rest), kwargs
