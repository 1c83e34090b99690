# Loaded by `ruby -r` before everything else. Writes line coverage to $REDGREEN_COVERAGE, as lcov.
require 'coverage'
Coverage.start
redgreen_pid = Process.pid
at_exit do
  # A forked child inherits this block, but its lines do not belong to the suite.
  if Process.pid == redgreen_pid && Coverage.running?
    root = Dir.pwd + '/'
    File.open(ENV.fetch('REDGREEN_COVERAGE'), 'w') do |out|
      Coverage.result.each do |file, lines|
        next unless file.start_with?(root)
        lines = lines[:lines] if lines.is_a?(Hash)
        out.puts "SF:#{file}"
        (lines || []).each_with_index { |count, index| out.puts "DA:#{index + 1},#{count}" if count }
        out.puts 'end_of_record'
      end
    end
  end
end
