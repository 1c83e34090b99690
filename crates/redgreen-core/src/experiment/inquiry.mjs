async function inquire(calls) {
  const tell = (said) => appendFileSync(process.env.REDGREEN_INERT_LOG, `${stringify(said)}\n`);
  tell({ begun: true });
  for (const [index, load, name, args] of calls) {
    let loaded;
    try {
      loaded = await load();
    } catch (error) {
      tell({ index, missing: shown(error) });
      continue;
    }
    tell({ index, ...(await answer(loaded, name, args)) });
  }
}
