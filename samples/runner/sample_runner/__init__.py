"""A small questionnaire application to put load on: the routes, knobs and backends of eq-questionnaire-runner."""
