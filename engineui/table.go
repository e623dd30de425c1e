package engineui

// table lists the pages, in the order of their links.
func table() []*page {
	return []*page{
		{path: "", title: "Now", file: "now.html", nav: true, load: (*Console).now},
	}
}
