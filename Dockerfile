# All images of the project: `--target operator`, `injector`, `runner` or `redis`.
# BASE_IMAGE is any Debian with Python 3.11 or newer and its venv module.
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS base
# Pods have a read-only root: bytecode is compiled here and never written there.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONPATH=/app
ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN echo 'nonroot:x:65532:65532:nonroot:/tmp:/usr/sbin/nologin' >> /etc/passwd \
 && echo 'nonroot:x:65532:' >> /etc/group
WORKDIR /app


FROM base AS venv
RUN python3 -m venv /opt/venv


FROM venv AS operator-deps
ARG PIP_CERT
ARG PIP_INDEX_URL
COPY requirements/operator.txt /requirements.txt
RUN pip install --quiet --no-cache-dir --require-hashes -r /requirements.txt && pip uninstall --quiet --yes setuptools pip

FROM base AS operator
COPY --from=operator-deps /opt/venv /opt/venv
# The pinned helm that the helm Jobs run, built from build/helm.
COPY .build/bin/helm /usr/local/bin/helm
RUN printf '#!/opt/venv/bin/python3\nimport sys\n\nfrom loadtest.cli.main import main\n\nsys.exit(main())\n' > /opt/venv/bin/loadtest \
 && chmod 755 /opt/venv/bin/loadtest
COPY operator/injector/loadtest_injector loadtest_injector
COPY operator/loadtest loadtest
RUN python3 -m compileall -q -j 0 .
USER 65532:65532
ENTRYPOINT ["loadtest"]


FROM venv AS injector-deps
ARG PIP_CERT
ARG PIP_INDEX_URL
COPY requirements/injector.txt /requirements.txt
RUN pip install --quiet --no-cache-dir --require-hashes -r /requirements.txt && pip uninstall --quiet --yes setuptools pip

FROM base AS injector
COPY --from=injector-deps /opt/venv /opt/venv
COPY operator/injector/loadtest_injector loadtest_injector
RUN python3 -m compileall -q -j 0 .
USER 65532:65532
ENTRYPOINT ["python3", "-m", "loadtest_injector"]


# uwsgi comes as source only. The compiler stays in this stage; where Python is linked as a shared library, that goes
# with the environment.
FROM venv AS runner-deps
ARG PIP_CERT
ARG PIP_INDEX_URL
RUN apt-get -qq update \
 && include="$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
 && if [ -e "$include/Python.h" ]; then headers=; else headers=python3-dev; fi \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends gcc libc6-dev $headers > /dev/null
COPY requirements/runner.txt /requirements.txt
RUN LDFLAGS=-Wl,-rpath,/opt/venv/lib pip install --quiet --no-cache-dir --require-hashes -r /requirements.txt \
 && pip uninstall --quiet --yes setuptools pip \
 && library="$(ldd /opt/venv/bin/uwsgi | sed -n 's/.*libpython.* => \([^ ]*\) .*/\1/p')" \
 && if [ -n "$library" ]; then cp "$library" /opt/venv/lib/; fi

FROM base AS runner
COPY --from=runner-deps /opt/venv /opt/venv
COPY samples/runner .
RUN python3 -m compileall -q -j 0 .
USER 65532:65532
ENTRYPOINT ["python3", "-m", "sample_runner"]


# Redis for the sample Runner, from Debian.
FROM base AS redis
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends redis-server > /dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["redis-server"]
CMD ["--save", "", "--appendonly", "no", "--protected-mode", "no"]
