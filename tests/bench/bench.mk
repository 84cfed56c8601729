.PHONY: bench-injector

bench-injector: venv ## measures the injector beside FastHttpUser, k6 and wrk (ARGS="--rounds 2 --seconds 4" for less)
	@$(BIN)/python -m tests.bench $(ARGS)
