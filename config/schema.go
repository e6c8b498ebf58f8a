package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// A key is one key of the file.
type key struct {
	path    string // as receiver.tls.cert_file and printers[].name
	typ     reflect.Type
	index   []int // where it is in a Config; nothing inside a list
	restart bool  // a reload cannot change it
}

// keys is every key of a struct that has a value of its own, in the order of the manual.
func keys(t reflect.Type, prefix string, index []int) (all []key) {
	for f := range t.Fields() {
		path, at := prefix+f.Tag.Get("mapstructure"), append(slices.Clip(index), f.Index...)
		switch {
		case f.Tag.Get("mapstructure") == "-":
		case isSection(f.Type):
			all = append(all, keys(f.Type, path+".", at)...)
		case f.Type.Kind() == reflect.Slice && isSection(f.Type.Elem()):
			all = append(all, keys(f.Type.Elem(), path+"[].", nil)...)
		default:
			all = append(all, key{path, f.Type, at, f.Tag.Get("reload") == "restart"})
		}
	}
	return all
}

// isSection says whether t is a struct of keys; a network is a struct too, and a value.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[netip.Prefix]() && t != reflect.TypeFor[Scale]()
}

// sectionKeys is what may stand in a section, and its type.
func sectionKeys(t reflect.Type) map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name := f.Tag.Get("mapstructure"); name != "-" {
			m[name] = f.Type
		}
	}
	return m
}

func allKeys() []key { return keys(reflect.TypeFor[Config](), "", nil) }

// inList says that the key is one of an element of a list.
func (k key) inList() bool { return strings.Contains(k.path, "[]") }

// Keys is every key there is, in the order of the manual; those inside a list as
// printers[].name.
func Keys() []string {
	var paths []string
	for _, k := range allKeys() {
		paths = append(paths, k.path)
	}
	return paths
}

// EnvName is the variable that sets a key.
func EnvName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// NeedsRestart says which keys differ from old's and take a restart to apply. Everything
// else a reload applies: venues, stations, routes, the fallback, ticket fields, the log
// level, and of the receiver path, secrets, headers, networks and limits.
func (c *Config) NeedsRestart(old *Config) []string {
	var changed []string
	for _, k := range allKeys() {
		if k.restart && !reflect.DeepEqual(k.value(c), k.value(old)) {
			changed = append(changed, k.path)
		}
	}
	return changed
}

// in is the value of the key in c.
func (k key) value(c *Config) any { return reflect.ValueOf(c).Elem().FieldByIndex(k.index).Interface() }
