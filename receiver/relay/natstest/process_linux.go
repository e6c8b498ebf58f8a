package natstest

import "syscall"

// dieWithParent: a test that panics runs no cleanup, and its servers must not stay.
var dieWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
