package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// override reads keys of a profile, whose names and values only the profile knows.
func (f *findings) override(path string, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		f.add(path, "want keys of the profile with their values, got %s", shown(n))
		return nil, false
	}
	v, ok := f.free(path, n, 0)
	if !ok {
		return nil, false
	}
	return Override(v.(map[string]any)), true
}

// free reads whatever stands there. A profile is not deep.
func (f *findings) free(path string, n *yaml.Node, depth int) (any, bool) {
	f.lines[path] = n.Line
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		f.add(path, "anchors and aliases (& and *) are not understood here; write the value out")
		return nil, false
	case depth > 4 || len(n.Content) > maxList:
		f.add(path, "is more than any profile holds")
		return nil, false
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for name, at := range f.pairs(path, n) {
			if v, ok := f.free(join(path, name), at, depth+1); ok {
				m[name] = v
			}
		}
		return m, true
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for i, at := range n.Content {
			if v, ok := f.free(fmt.Sprintf("%s[%d]", path, i), at, depth+1); ok {
				list = append(list, v)
			}
		}
		return list, true
	}
	var v any
	switch n.ShortTag() {
	case "!!null":
		f.add(path, "is empty; leave the key out to keep what the profile says")
		return nil, false
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			f.add(path, "%s is no value", quote(n.Value))
			return nil, false
		}
	default: // dates and the like are words here
		v = n.Value
	}
	return v, true
}
