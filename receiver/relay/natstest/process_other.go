//go:build !linux

package natstest

import "syscall"

// dieWithParent: other systems cannot do that.
var dieWithParent *syscall.SysProcAttr
