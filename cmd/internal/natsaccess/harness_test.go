package natsaccess

import (
	"fmt"
	"path/filepath"
	"testing"

	"ticketrail/receiver/relay/natstest"
)

// servers runs nats-server with the files of WriteNodes, on ports of loopback.
func servers(t *testing.T, o *Operator, many int) (nodes []Node, urls []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range many {
		port, err := natstest.FreePort(clusterOffset, monitorOffset)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, fmt.Sprintf("node%d", i+1))
		nodes = append(nodes, Node{Host: "127.0.0.1", Port: port, Etc: folder, Data: folder})
		urls = append(urls, nodes[i].URL())
	}
	folders, err := o.WriteNodes(dir, nodes)
	if err != nil {
		t.Fatal(err)
	}
	var files []natstest.File
	for i, folder := range folders {
		files = append(files, natstest.File{Path: filepath.Join(folder, "nats-server.conf"),
			Client: nodes[i].address(0), Status: fmt.Sprintf("127.0.0.1:%d", nodes[i].MonitorPort())})
	}
	natstest.FilesForTest(t, files)
	return nodes, urls
}
