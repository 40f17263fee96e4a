//go:build !unix

package main

import "testing"

// tripwires puts nothing anywhere: there are no named pipes here.
func tripwires(t *testing.T, dir string) {}
