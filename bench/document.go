package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// errPartial is wrapped by an error that says why a run is not written down.
var errPartial = errors.New("only a whole run with the default options is written down")

// isWhole returns nil if a run measures all there is, in its full size.
func (o options) isWhole() error {
	whole, err := parse(nil, io.Discard)
	if err != nil {
		return err
	}
	whole.document = o.document
	if o != whole {
		return errPartial
	}
	return nil
}

// introduction begins the document.
const introduction = `# Performance

Written by ` + "`make bench`" + `: do not edit. What is measured, and what makes it fair, is in [bench/README.md](../bench/README.md); what Heliograph has to reach (*at least*) and aims at (*aim*), how many times less it has to need than the other side, is shown beside each measure for which it was set, with *met* saying which of them was reached.

Every line is about something of which less is better. *other* is client-go, or controller-runtime where a line says so; *ratio* is the other side divided by Heliograph.

`

// writeDocument writes what a run has printed to a file.
func writeDocument(file string, h header, rows []row, tables []table) error {
	var out bytes.Buffer
	out.WriteString(introduction)
	fmt.Fprintln(&out, "```")
	h.print(&out)
	fmt.Fprint(&out, "```\n\n")
	printResults(&out, rows, tables)
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func printResults(out io.Writer, rows []row, tables []table) {
	if len(rows) > 0 {
		printTable(out, rows)
		printReasons(out, rows)
	}
	for _, t := range tables {
		t.print(out)
	}
}
