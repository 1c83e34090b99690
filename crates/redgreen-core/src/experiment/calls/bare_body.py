for seed in (1, 2):
    for attempt in attempts(_CALLS, _PLAN, seed, _tell):
        try:
            attempt.gives(attempt.target(*attempt.args, **attempt.kwargs))
        except BaseException as error:
            attempt.raises(error)
