package engineui

import (
	"maps"
	"slices"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
)

// source is a source of the engine with its statistics.
type source struct {
	Name  string
	Stats detect.Stats
}

// sourceList lists the sources by name.
func sourceList(st *streamwatch.Stats) (list []source) {
	all := sourceStats(st)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, source{name, all[name]})
	}
	return list
}
