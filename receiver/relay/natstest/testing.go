package natstest

import (
	"context"
	"testing"
	"time"
)

// ForTest starts a cluster that ends with the test. config may be nil.
func ForTest(t testing.TB, nodes int, config func(node int) string) *Cluster {
	t.Helper()
	return forTest(t, Options{Dir: t.TempDir(), Nodes: nodes, Config: config})
}

// FilesForTest is ForTest for configurations that are there already.
func FilesForTest(t testing.TB, files []File) *Cluster {
	t.Helper()
	return forTest(t, Options{Files: files})
}

func forTest(t testing.TB, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the first build of the server included
	defer cancel()
	c, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop()
		if t.Failed() {
			for i := range c.nodes {
				t.Logf("%s:\n%s", c.nodes[i].name, c.Log(i))
			}
		}
	})
	return c
}
