// Writes the events of mocha to $REDGREEN_REPORT, one JSON line each. A crash loses no earlier
// event.
//
//     mocha --reporter /path/to/redgreen-mocha.cjs
//
// Needs mocha 8 or later, and redgreen-stream.cjs in the same folder. framework/mocha.rs reads the
// output. Mocha loads this file before the tests, so an empty stream means that the run ended before
// its first test. With $REDGREEN_FILES, only tests of these files run: mocha itself adds the files
// that the project's configuration names.

'use strict'

const path = require('node:path')

const { emit, bounded, frameOf } = require('./redgreen-stream.cjs')

const files = process.env.REDGREEN_FILES?.split('\n')
delete process.env.REDGREEN_FILES

function isWanted(test) {
  return !files || files.includes(path.relative(process.cwd(), test.file ?? ''))
}

function leaveOutOthers(suite) {
  suite.tests = suite.tests.filter(isWanted)
  suite.suites.forEach(leaveOutOthers)
}

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
      leaveOutOthers(suite)
      const total = runner.grepTotal(suite)
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
