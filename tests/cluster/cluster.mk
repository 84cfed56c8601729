.PHONY: cluster-up cluster-down cluster-status images lock

cluster-up: ## starts the test cluster (reuses a running one) and prints its kubeconfig
	@python3 -m tests.cluster up

cluster-down: ## ends the test cluster and removes its traces; built programs and images stay cached
	@python3 -m tests.cluster down

cluster-status: ## says whether the test cluster is up, or what is wrong with it
	@python3 -m tests.cluster status

images: ## builds the images that changed and loads them into the running cluster
	@python3 -m tests.cluster images

lock: ## compiles the hashed lock files of requirements/ from pyproject.toml (UPGRADE=1 for newer versions)
	@python3 build/lock.py $(if $(UPGRADE),--upgrade)
