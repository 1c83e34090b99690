// Writes what jest does to $REDGREEN_REPORT, one JSON line per event: a crash loses nothing said before.
//
//     jest --testLocationInResults --reporters=/path/to/redgreen-jest.cjs
//
// Needs jest 27 or later, and redgreen-stream.cjs beside it. Its reader is redgreen's framework/jest.rs.

'use strict'

const { only, emit, bounded, frameOf } = require('./redgreen-stream.cjs')

function idOf(test) {
  return [...test.ancestorTitles, test.title].join(' > ')
}

// Jest keeps no error as it was: what is left of its class is how the trace begins. Those of node:assert are reworded,
// without a trace of their own.
function classOf(error) {
  if (error.stack === undefined) return 'AssertionError'
  return /^(\w+)(?: \[\w+\])?:/.exec(error.stack)?.[1]
}

function described(error) {
  const matcher = Boolean(error.matcherResult)
  const message = String(error.message ?? error.error?.message).split(/\n +at /)[0]
  return { name: matcher ? 'JestAssertionError' : classOf(error), code: error.code, matcher, message: bounded(message) }
}

// Why a file could not be loaded, or what was thrown outside of its tests; that has a trace only.
function broken(error) {
  const [, parsed] = /^(\/[^:]+): /.exec(error.message) ?? []
  return {
    name: error.name ?? classOf(error),
    code: error.code,
    message: bounded(error.message || error.stack),
    frame: parsed && error.loc ? { file: parsed, line: error.loc.line } : frameOf(error.stack),
  }
}

module.exports = class {
  onRunStart() {
    emit({ event: 'start', runner: 'jest' })
  }

  onTestCaseStart(test, info) {
    emit({ event: 'test-start', file: test.path, id: idOf(info), mode: info.mode })
  }

  onTestCaseResult(test, result) {
    emit({
      event: 'result',
      file: test.path,
      id: idOf(result),
      line: result.location?.line,
      outcome: result.status,
      failing: result.failing,
      invocations: result.invocations,
      errors: (result.failureDetails ?? []).map(described),
      ms: result.duration,
    })
  }

  onTestFileResult(test, result) {
    const last = (one) => ({
      id: idOf(one),
      line: one.location?.line,
      outcome: only !== undefined && one.status === 'pending' && idOf(one) !== only ? 'excluded' : one.status,
      messages: one.failureMessages.map(bounded),
    })
    const error = result.testExecError
    emit({ event: 'file-end', file: test.path, error: error && broken(error), tests: result.testResults.map(last) })
  }

  onRunComplete() {
    emit({ event: 'finish' })
  }
}
