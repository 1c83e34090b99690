const redgreenAsk = QUESTION;
const redgreenLoad = (path) => redgreenModules[path]();
const redgreenTell = (line) =>
  process.getBuiltinModule("node:fs").appendFileSync(process.env.REDGREEN_INERT_LOG, `${JSON.stringify(line)}\n`);
