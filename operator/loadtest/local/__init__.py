"""The laptop engine: the operator's own loop, with processes of this machine in the place of pods.

documents   the file's LoadTest, ConfigMaps and Secrets
api         an API server in this process, which keeps its objects in the folder of the results
kubelet     runs the injectors' pods as processes
target      the target of a run: a process that is started anew, with another environment, for each variant
sample      the target where no command is given: the sample Runner with Redis and a Datastore emulator
fit         what of a plan holds on one machine, and what cannot
programs    child processes, each under a `warden` that ends it when we are gone, however that happens
engine      all of it together
"""
