package harness

import "syscall"

// childAttributes make the kernel kill the server when the test dies, be it by a
// panic, a timeout or kill -9.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
