// Writes what mocha does to $REDGREEN_REPORT, one JSON line per event: a crash loses nothing said before.
//
//     mocha --reporter /path/to/redgreen-mocha.cjs
//
// Needs mocha 8 or later, and redgreen-stream.cjs beside it. Its reader is redgreen's framework/mocha.rs. Mocha loads
// this before the tests: a stream that stays empty is of a run that did not get as far as its first test.

'use strict'

const { emit, bounded, frameOf } = require('./redgreen-stream.cjs')

function place(test) {
  return { id: test.titlePath().join(' > '), file: test.file }
}

function testsOf(suite) {
  return [...suite.tests.map(place), ...suite.suites.flatMap(testsOf)]
}

function lineOf(error, file) {
  const frame = frameOf(error?.stack)
  return frame?.file === file ? frame?.line : undefined
}

module.exports = class {
  constructor(runner) {
    const { suite } = runner
    runner.once('start', () => {
      const { total } = runner
      emit({ event: 'start', runner: 'mocha', total, collected: testsOf(suite), hasOnly: suite.hasOnly() })
    })
    runner.on('test', (test) => emit({ event: 'test-start', ...place(test) }))
    runner.on('pass', (test) => {
      emit({ event: 'result', ...place(test), outcome: 'passed', retry: test.currentRetry(), ms: test.duration })
    })
    runner.on('pending', (test) => emit({ event: 'result', ...place(test), outcome: 'skipped' }))
    runner.on('fail', (test, error) => {
      emit({
        event: 'result',
        ...place(test),
        outcome: test.type === 'hook' ? 'hook-failed' : 'failed',
        name: error?.name,
        code: error?.code,
        message: bounded(error?.message ?? error),
        line: lineOf(error, test.file),
        ms: test.duration,
      })
    })
    runner.once('end', () => emit({ event: 'finish' }))
  }
}
