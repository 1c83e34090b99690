# Loaded by `elixir -r` before `mix test --formatter RedgreenExUnit`. Writes the events to $REDGREEN_REPORT, one JSON line
# each, and line coverage to $REDGREEN_COVERAGE, if set, as lcov. Each application of an umbrella starts and finishes in
# the same file, one after the other.
defmodule RedgreenExUnit do
  use GenServer

  def init(options) do
    file = File.open!(System.fetch_env!("REDGREEN_REPORT"), [:append, :utf8])
    emit(file, event: "start", runner: "exunit", version: System.version(), seed: options[:seed])
    if coverage() do
      :cover.start()
      :cover.compile_beam_directory(to_charlist(Mix.Project.compile_path()))
    end

    {:ok, file}
  end

  def handle_cast({:test_started, test}, file) do
    emit(file, [event: "test-start"] ++ place(test))
    {:noreply, file}
  end

  def handle_cast({:test_finished, test}, file) do
    {outcome, faults} = outcome(test.state)

    emit(
      file,
      [event: "result"] ++
        place(test) ++
        [
          outcome: outcome,
          exception: Enum.map_join(faults, ",", &class/1),
          message: Enum.map_join(faults, "\n", &words/1),
          us: test.time
        ]
    )

    {:noreply, file}
  end

  def handle_cast({:module_finished, module}, file) do
    if module.state != nil do
      emit(file, event: "module", id: inspect(module.name), file: module.file, state: inspect(module.state, limit: 5))
    end

    {:noreply, file}
  end

  def handle_cast({:suite_finished, _}, file) do
    if coverage(), do: File.write!(coverage(), Enum.map(:cover.modules(), &reached/1))
    emit(file, event: "finish")
    {:noreply, file}
  end

  def handle_cast(_, file), do: {:noreply, file}

  defp coverage(), do: System.get_env("REDGREEN_COVERAGE")

  defp reached(module) do
    {:ok, lines} = :cover.analyse(module, :calls, :line)
    # A line has a count for each clause on it; line 0 is the compiler's own.
    lines = Enum.group_by(lines, fn {{_, line}, _} -> line end, fn {_, calls} -> calls end)
    told = for {line, calls} <- lines, line > 0, do: "DA:#{line},#{Enum.max(calls)}\n"
    ["SF:#{module.module_info(:compile)[:source]}\n", told, "end_of_record\n"]
  end

  defp place(test) do
    [id: "#{inspect(test.module)} #{test.name}", file: test.tags[:file], line: test.tags[:line]]
  end

  defp outcome(nil), do: {"passed", []}
  defp outcome({:skipped, why}), do: {"skipped", [{:note, why, []}]}
  defp outcome({:excluded, why}), do: {"excluded", [{:note, why, []}]}
  defp outcome({:invalid, _}), do: {"invalid", []}

  defp outcome({:failed, faults}) do
    {if(Enum.all?(faults, &assertion?/1), do: "failed", else: "errored"), faults}
  end

  defp assertion?({:error, %{__struct__: class}, _}), do: class in [ExUnit.AssertionError, ExUnit.MultiError]
  defp assertion?(_), do: false

  defp class({:note, _, _}), do: ""
  defp class({:error, %{__struct__: class}, _}), do: inspect(class)
  defp class({kind, _, _}), do: inspect(kind)

  defp words({:note, why, _}), do: to_string(why)
  defp words({:error, error, _}) when is_exception(error), do: Exception.message(error)
  defp words({kind, reason, stack}), do: Exception.format(kind, reason, stack)

  defp emit(file, pairs) do
    IO.write(file, "{" <> Enum.map_join(pairs, ",", fn {key, value} -> json(to_string(key)) <> ":" <> json(value) end) <> "}\n")
  end

  defp json(nil), do: "null"
  defp json(number) when is_number(number), do: to_string(number)

  defp json(text) when is_binary(text) do
    if String.valid?(text) do
      "\"" <> for(<<letter::utf8 <- text>>, into: "", do: escaped(letter)) <> "\""
    else
      json(inspect(text))
    end
  end

  defp json(other), do: json(inspect(other))

  defp escaped(?"), do: "\\\""
  defp escaped(?\\), do: "\\\\"

  defp escaped(letter) when letter < 0x20 do
    "\\u" <> String.pad_leading(Integer.to_string(letter, 16), 4, "0")
  end

  defp escaped(letter), do: <<letter::utf8>>
end
