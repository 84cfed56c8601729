//go:build tools

// Package tools names the k6 that the injector is compared with, so that go.mod pins it.
package tools

import _ "go.k6.io/k6"
