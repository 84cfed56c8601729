//go:build tools

// Package tools names the helm that the operator's image carries, so that go.mod pins it.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
