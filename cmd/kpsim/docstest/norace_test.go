//go:build !race

package docstest

const race = false
