package engineui

// Paths are those of all pages, those that only operators see included.
func Paths() (all, operators []string) {
	for _, p := range table() {
		all = append(all, p.path)
		if p.operator {
			operators = append(operators, p.path)
		}
	}
	return all, operators
}
