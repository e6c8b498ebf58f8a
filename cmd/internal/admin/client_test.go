package admin

import (
	"errors"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAnErrorOfAClosedSocketNamesTheGroupThatHasAccess(t *testing.T) {
	path := socketPath(t)
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mine := strconv.Itoa(os.Getegid())
	if g, err := user.LookupGroupId(mine); err == nil {
		mine = g.Name
	}
	// The test may run as root, which may open every socket, so the kernel's error is made here.
	denied := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	err = dialError(path, denied)
	e, ok := errors.AsType[*PermissionDenied](err)
	if !ok || e.Group != mine {
		t.Errorf("a refused connect gives %v, want that group %s may", err, mine)
	}
	for group, want := range map[string]string{"kitchen": "usermod -aG kitchen and", "root": ": use sudo",
		"": ": use sudo"} {
		if s := (&PermissionDenied{Socket: path, Group: group}).Error(); !strings.Contains(s, want) ||
			strings.Contains(s, "-aG root") {
			t.Errorf("a user who is not in group %q is told: %s", group, s)
		}
	}
	if err := dialError("/nowhere/at/all.sock", denied); !strings.Contains(err.Error(), "use sudo") {
		t.Errorf("a refused connect into a hidden folder gives %v", err)
	}
}

func TestABuildIsOneLine(t *testing.T) {
	for _, b := range []Build{
		ThisBuild(),
		{Version: "v1.2.3", Commit: "0123456789abcdef", Dirty: true, Go: "go1", OS: "linux", Arch: "arm64"},
	} {
		if s := b.String(); !strings.HasPrefix(s, "ticketrail "+b.Version+" ") || strings.Contains(s, "\n") {
			t.Errorf("%+v is %q", b, s)
		}
	}
}
