{{- /*
Names are fixed, not made from the release's: there is one operator in a namespace, and chart loadtest-target and the
docs can name its service account.
*/ -}}
{{- define "loadtest-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "loadtest-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "loadtest-operator.selector" -}}
app.kubernetes.io/name: loadtest-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* An image by tag, or by digest where the tag is one. Arguments: the image's values, the chart's appVersion. */ -}}
{{- define "loadtest-operator.image" -}}
{{- $tag := .image.tag | default .version -}}
{{- printf "%s%s%s" .image.repository (hasPrefix "sha256:" $tag | ternary "@" ":") $tag -}}
{{- end }}

{{- define "loadtest-operator.tokenSecret" -}}
{{- .Values.tokenKey.existingSecret | default "loadtest-operator-token-key" -}}
{{- end }}

{{- /* Whom every Role of this chart is bound to. */ -}}
{{- define "loadtest-operator.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: loadtest-operator
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* Rights in the namespaces of LoadTests. Secrets are not among them: injectors mount what they need. */ -}}
{{- define "loadtest-operator.rules" -}}
- apiGroups: [loadtest.eqrunner.dev]
  resources: [loadtests]
  verbs: [get, list, watch, patch]
- apiGroups: [loadtest.eqrunner.dev]
  resources: [loadtests/status]
  verbs: [get, patch, update]
- apiGroups: [loadtest.eqrunner.dev]
  resources: [loadtests/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, create, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch, delete]
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if .Values.networkPolicies.enabled }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create]
{{- end }}
{{- end }}

{{- /* Only where the operator serves all namespaces: to see whom a target's namespace allows, and that it is going. */ -}}
{{- define "loadtest-operator.clusterRules" -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end }}

{{- /* The environment of the operator and of the hook. */ -}}
{{- define "loadtest-operator.env" -}}
- name: LOADTEST_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: LOADTEST_WATCH_NAMESPACES
  value: {{ join "," .Values.watchNamespaces | quote }}
- name: LOADTEST_OPERATOR_IMAGE
  value: {{ include "loadtest-operator.image" (dict "image" .Values.image "version" .Chart.AppVersion) | quote }}
- name: LOADTEST_INJECTOR_IMAGE
  value: {{ include "loadtest-operator.image" (dict "image" .Values.injectorImage "version" .Chart.AppVersion) | quote }}
- name: LOADTEST_IMAGE_PULL_POLICY
  value: {{ .Values.imagePullPolicy }}
- name: LOADTEST_HELM_SERVICE_ACCOUNT
  value: {{ .Values.helmServiceAccount | quote }}
- name: LOADTEST_LEASE_SECONDS
  value: {{ .Values.leaseSeconds | int | quote }}
- name: LOADTEST_TOKEN_KEY_FILE
  value: /etc/loadtest-operator/token-key/key
- name: LOADTEST_CLUSTER_DOMAIN
  value: {{ .Values.clusterDomain | quote }}
{{- with .Values.limits }}
- name: LOADTEST_OUTSIDE_HOSTS
  value: {{ join "," .outsideHosts | quote }}
- name: LOADTEST_MAX_USERS
  value: {{ .maxUsers | int64 | default "" | quote }}
- name: LOADTEST_MAX_SPAWN_RATE
  value: {{ .maxSpawnRate | int64 | default "" | quote }}
- name: LOADTEST_MAX_REQUEST_RATE
  value: {{ .maxRequestRate | int64 | default "" | quote }}
- name: LOADTEST_MAX_LOAD
  value: {{ .maxLoad | quote }}
{{- end }}
- name: LOADTEST_NETWORK_POLICIES
  value: {{ .Values.networkPolicies.enabled | quote }}
- name: LOADTEST_HEALTH_PORT
  value: "8080"
- name: LOADTEST_LOG_FORMAT
  value: {{ .Values.logFormat }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What the operator's pod and the hook's have in common: Pod Security "restricted", and where they run. */ -}}
{{- define "loadtest-operator.pod" -}}
serviceAccountName: loadtest-operator
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: token-key
    secret:
      secretName: {{ include "loadtest-operator.tokenSecret" . }}
      # Read by the group of the pod, which is not root.
      defaultMode: 0440
      items:
        - {key: key, path: key}
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "loadtest-operator.container" -}}
image: {{ include "loadtest-operator.image" (dict "image" .Values.image "version" .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  {{- include "loadtest-operator.env" . | nindent 2 }}
volumeMounts:
  - name: token-key
    mountPath: /etc/loadtest-operator/token-key
    readOnly: true
  - name: tmp
    mountPath: /tmp
{{- end }}
