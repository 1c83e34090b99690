// Loaded by `node --test` into the process of each test file, before it.
//
//     node --test --require=/path/to/redgreen-node-child.cjs
//
// Its reader is redgreen's framework/node.rs. A test that ends its process with 0 takes along what was said of the
// file, which then looks like one without tests: such an end gets a code of its own. With $REDGREEN_LIST no test is
// run, each is only named; with $REDGREEN_ONLY one is, whose name is also that of its suites.

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

// Node calls the body of a test, of a hook and of a suite as an asynchronous resource of that class.
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
  // What the tests start themselves is none of our business.
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
