// Loaded by `node --test` into the process of each test file, before it.
//
//     node --test --require=/path/to/redgreen-node-child.cjs
//
// framework/node.rs reads the output. If a test ends its process with exit code 0, Node loses the
// results of the file, which then looks like a file without tests. So process.exit(0) becomes another
// code. With $REDGREEN_LIST, tests are listed but do not run. With $REDGREEN_ONLY, only one test
// runs; its name includes those of its suites.

'use strict'

const { AsyncResource } = require('node:async_hooks')
const { isMainThread } = require('node:worker_threads')

const LEFT = 86
const { REDGREEN_LIST: list, REDGREEN_ONLY: only } = process.env

function nameOf(test) {
  return test.parent?.parent ? `${nameOf(test.parent)} > ${test.name}` : test.name
}

function isWanted(test) {
  const name = nameOf(test)
  return !only || name === only || only.startsWith(`${name} > `) || name.startsWith(`${only} > `)
}

// Node runs the body of a test, hook or suite in an asynchronous resource of that class.
function isRun(resource) {
  switch (resource.constructor.name) {
    case 'Test':
      return !list && isWanted(resource)
    case 'TestHook':
      return !list
    default:
      return true
  }
}

if (process.env.NODE_TEST_CONTEXT && isMainThread) {
  // Programs that the tests start must not load this file.
  process.execArgv = process.execArgv.filter((arg) => !arg.endsWith(__filename))
  delete process.env.REDGREEN_LIST
  delete process.env.REDGREEN_ONLY

  const exit = process.exit
  process.exit = (code) => exit.call(process, Number(code ?? process.exitCode ?? 0) === 0 ? LEFT : code)

  if (list || only) {
    const run = AsyncResource.prototype.runInAsyncScope
    AsyncResource.prototype.runInAsyncScope = function (body, ...rest) {
      if (isRun(this)) return run.call(this, body, ...rest)
      const done = rest.at(-1)
      if (typeof done === 'function') done()
    }
  }
}
