//go:build !linux

package harness

import "syscall"

// childAttributes are empty where the kernel cannot tie a child to its parent.
func childAttributes() *syscall.SysProcAttr { return nil }
