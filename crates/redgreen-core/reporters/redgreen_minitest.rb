# Runs a project's minitest files in one process and writes the events to $REDGREEN_REPORT, one JSON line each:
#   ruby -Ilib -Itest redgreen_minitest.rb [--list | --one ID] [FILE ...]
# Without files, it runs all of them. The exit code is 2 if a file does not exist.
require 'json'
require 'minitest'

module RedgreenMinitest
  GLOBS = ['test/**/*_test.rb', 'test/**/test_*.rb'].freeze
  OUT = File.open(ENV.fetch('REDGREEN_REPORT'), 'w')
  OUT.sync = true

  def self.emit(event)
    OUT.puts(JSON.generate(event))
  rescue JSON::GeneratorError, EncodingError
    clean = event.transform_values { |value| value.is_a?(String) ? value.b.encode('UTF-8', invalid: :replace, undef: :replace) : value }
    OUT.puts(JSON.generate(clean))
  end

  def self.ids(one)
    all = Minitest::Runnable.runnables.flat_map do |group|
      group.runnable_methods.map { |name| "#{group}##{name}" }
    end
    one ? all.select { |id| id == one } : all
  end

  # A file that cannot be loaded does not stop the others, but the run does not pass.
  def self.load_file(file)
    require File.expand_path(file)
  rescue SignalException
    raise
  rescue Exception => e
    @broken = true
    place = e.is_a?(SyntaxError) ? e.message : (e.backtrace || []).find { |line| line.start_with?(File.expand_path(file)) }
    emit(event: 'load-error', file: file, line: place.to_s[/\.rb:(\d+)/, 1]&.to_i, exception: e.class.name, message: e.message)
  end

  def self.broken?
    @broken
  end

  class Reporter < Minitest::AbstractReporter
    def initialize(one)
      super()
      @one = one
    end

    def start
      RedgreenMinitest.emit(event: 'chosen', ids: RedgreenMinitest.ids(@one))
    end

    def prerecord(group, name)
      file, line = (group.instance_method(name).source_location rescue nil)
      RedgreenMinitest.emit(event: 'test-start', id: "#{group}##{name}", file: file, line: line)
    end

    def record(result)
      failure = result.failure
      error = failure.respond_to?(:error) ? failure.error : failure
      file, line = result.source_location
      outcome = if result.passed? then 'passed'
                elsif result.skipped? then 'skipped'
                elsif result.error? then 'errored'
                else 'failed'
                end
      RedgreenMinitest.emit(event: 'result', id: "#{result.class_name}##{result.name}", file: file, line: line,
                            outcome: outcome, exception: error && error.class.name, message: error && error.message,
                            seconds: result.time)
    end

    def report
      RedgreenMinitest.emit(event: 'finish')
    end

    def passed?
      !RedgreenMinitest.broken?
    end
  end
end

list = ARGV.delete('--list')
one = ARGV.shift && ARGV.shift if ARGV.first == '--one'
files = ARGV.empty? ? Dir.glob(RedgreenMinitest::GLOBS).uniq.sort : ARGV.dup
absent = files.reject { |file| File.file?(file) }
unless absent.empty?
  warn "no such file: #{absent.join(', ')}"
  exit!(2)
end
ARGV.replace(one ? ['--name', one] : [])

Minitest.define_singleton_method(:plugin_redgreen_init) { |_options| reporter << RedgreenMinitest::Reporter.new(one) }
Minitest.extensions << 'redgreen'
RedgreenMinitest.emit(event: 'start', runner: 'minitest', version: Minitest::VERSION, root: Dir.pwd)
require 'minitest/autorun' unless list
files.each { |file| RedgreenMinitest.load_file(file) }
if list
  Minitest.seed = 0
  RedgreenMinitest.emit(event: 'chosen', ids: RedgreenMinitest.ids(nil))
  RedgreenMinitest.emit(event: 'finish')
  exit!(0)
end
