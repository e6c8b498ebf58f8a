package daemon

import (
	"net"
	"strings"
	"testing"
)

func TestTheErrorOfAnAddressThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := l.Addr().String()
	_, port, _ := net.SplitHostPort(used)
	for address, want := range map[string]string{
		used: "metrics.listen: " + used + " is already used by another program, " +
			"perhaps another ticketrail: find it with ss -ltnp 'sport = :" + port + "'",
		"192.0.2.1:0":   "metrics.listen: this box has no address 192.0.2.1:0",
		"127.0.0.1:zzz": "metrics.listen: listen on 127.0.0.1:zzz: ",
	} {
		if _, err := Listen(nil, "metrics.listen", address); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
