// Writes the events of jest to $REDGREEN_REPORT, one JSON line each. A crash loses no earlier event.
//
//     jest --testLocationInResults --reporters=/path/to/redgreen-jest.cjs
//
// Needs jest 27 or later, and redgreen-stream.cjs in the same folder. framework/jest.rs reads the
// output.

'use strict'

const { only, emit, bounded, frameOf } = require('./redgreen-stream.cjs')

function idOf(test) {
  return [...test.ancestorTitles, test.title].join(' > ')
}

function classOf(trace) {
  return /^(\w+)(?: \[\w+\])?(?=[:\n]|$)/.exec(trace ?? '')?.[1]
}

// Jest does not keep the error object: its class is only at the start of its trace. Jest rewords the
// errors of node:assert, so their trace starts with the message.
function described(error, trace = '') {
  const matcher = Boolean(error.matcherResult)
  const isReworded = Boolean(error.message) && trace.startsWith(error.message)
  return {
    name: matcher ? 'JestAssertionError' : isReworded ? 'AssertionError' : classOf(trace),
    code: error.code,
    matcher,
    message: bounded((error.message ?? error.matcherResult?.message ?? trace).split(/\n +at /)[0]),
  }
}

// Why a file could not be loaded, or an error outside of its tests, which has only a trace.
function broken(error) {
  const [, parsed] = /^(\/[^:]+): /.exec(error.message) ?? []
  return {
    name: error.name ?? classOf(error.stack),
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
      errors: (result.failureDetails ?? []).map((error, at) => described(error, result.failureMessages?.[at])),
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
