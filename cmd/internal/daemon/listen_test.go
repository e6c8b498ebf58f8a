package daemon

import (
	"net"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestTheErrorOfAnAddressThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer l.Close()
	used := l.Addr().String()
	_, port, _ := net.SplitHostPort(used)
	for address, want := range map[string]string{
		used: "port/metrics.listen: the port of metrics.listen is taken (" + used + "): " +
			"stop that program (ss -ltnp 'sport = :" + port + "' names it)",
		"192.0.2.1:0":   "port/metrics.listen: this box has not the address of metrics.listen (192.0.2.1:0): use one",
		"127.0.0.1:zzz": "port/metrics.listen: the port of metrics.listen cannot be opened (127.0.0.1:zzz: ",
	} {
		_, err := Listen(nil, "metrics.listen", address)
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), address, err)
	}
}
