// Shared by our reporters for jest and mocha: the stream $REDGREEN_REPORT, with one JSON line per
// event, and the description of errors.

'use strict'

const fs = require('node:fs')

const TEXT_CHARS_MAX = 4000

const stream = fs.openSync(process.env.REDGREEN_REPORT, 'w')
const only = process.env.REDGREEN_ONLY
// Programs that the tests start must not write here.
delete process.env.REDGREEN_REPORT
delete process.env.REDGREEN_ONLY

function emit(event) {
  fs.writeSync(stream, JSON.stringify(event) + '\n')
}

function bounded(text) {
  return String(text).slice(0, TEXT_CHARS_MAX)
}

// The first place of a trace that is in the project.
function frameOf(trace) {
  for (const line of String(trace).split('\n')) {
    const [, file, number] = /(?:^|[ (])(?:file:\/\/)?(\/[^():]+):(\d+)(?::\d+)?\)?$/.exec(line) ?? []
    if (file && !file.includes('/node_modules/')) return { file, line: Number(number) }
  }
}

module.exports = { only, emit, bounded, frameOf }
