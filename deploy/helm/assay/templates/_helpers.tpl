{{/* The labels of a process: (dict "root" $ "name" "web") */}}
{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{/* What every pod of ours is: nobody special, on a file system that it cannot write. */}}
{{- define "assay.pod" -}}
imagePullSecrets: {{- toYaml .Values.image.pullSecrets | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What every container of ours is. */}}
{{- define "assay.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Where a process writes for itself, and where its secrets are. */}}
{{- define "assay.places" -}}
- { name: ASSAY_HOME, value: /scratch }
- { name: ASSAY_SECRETS_DIR, value: /run/secrets/assay }
- { name: TMPDIR, value: /scratch }
{{- end }}
