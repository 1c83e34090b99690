// Writes the events of `node --test`, one JSON line each.
//
//     node --test --test-reporter=/path/to/redgreen-node.mjs --test-reporter-destination=FILE
//
// Needs Node 20 or later. framework/node.rs reads the output. Keeps the stderr of a file, because
// only stderr says why a file could not be loaded. With $REDGREEN_ONLY, all other tests are reported
// as left out: versions of Node report them in different ways.

import path from 'node:path'

const TEXT_CHARS_MAX = 4000
const UNUSED = new Set(['test:stdout', 'test:coverage', 'test:dequeue', 'test:complete', 'test:diagnostic'])

const only = process.env.REDGREEN_ONLY
const LEFT_OUT = 'test name does not match pattern'

function isLeftOut(name) {
  return only !== undefined && name !== only && !name.startsWith(`${only} > `)
}

function described(error) {
  const cause = error.cause
  return {
    failureType: error.failureType,
    name: cause?.name ?? error.name,
    code: cause?.code ?? error.code,
    message: String(cause?.message ?? cause ?? error.message).slice(0, TEXT_CHARS_MAX),
    exitCode: error.exitCode,
    signal: error.signal,
  }
}

export default async function* (source) {
  const printed = new Map()
  const above = []
  for await (const { type, data } of source) {
    const file = data.file && path.resolve(data.file)
    if (type === 'test:stderr') {
      printed.set(file, ((printed.get(file) ?? '') + data.message).slice(0, TEXT_CHARS_MAX))
      continue
    }
    if (UNUSED.has(type)) continue
    const isFile = file && data.name && data.nesting === 0 && path.resolve(data.name) === file
    const error = data.details?.error
    if (data.name) above.splice(data.nesting, Infinity, data.name)
    const isTest = !isFile && data.details?.type !== 'suite'
    const isOther = type === 'test:pass' && isTest && isLeftOut(above.join(' > '))
    yield JSON.stringify({
      event: type,
      kind: isFile ? 'file' : data.details?.type,
      id: data.name,
      nesting: data.nesting,
      file,
      line: data.line,
      skip: isOther ? LEFT_OUT : data.skip,
      todo: data.todo,
      ms: data.details?.duration_ms,
      stderr: isFile && type === 'test:fail' ? printed.get(file) : undefined,
      error: error && described(error),
    }) + '\n'
  }
  yield JSON.stringify({ event: 'finish' }) + '\n'
}
