package clientgo

import "time"

var watch = upstream{
	Path:    "tools/watch",
	Ours:    "clientgo/watch",
	Timeout: 2 * time.Minute,
	// Of the 11 that are run, these fail now and then or in a part:
	// TestNewInformerWatcher misses what is written to a fake between its list and
	// its watch, and TestUntilWithSync gets an error that says more.
	Unfinished: true,
	Edits: map[string][]edit{
		// 410 of a request ends ours for good (watch-gone): the case that gets over it
		// gets over another error instead.
		"retrywatcher_test.go": {replace(`apierrors.NewResourceExpired("")`, `errors.New("test error")`)},
	},
	Skips: []skip{
		{Name: "TestEventProcessorExit", Why: "it tests an inner type, a buffer that ours has no need of", Row: "watch-informer-backlog"},
		{Name: "TestEventProcessorOrdersEvents", Why: "it tests an inner type, a buffer that ours has no need of", Row: "watch-informer-backlog"},
	},
}

var dynamicinformer = upstream{
	Path:    "dynamic/dynamicinformer",
	Ours:    "clientgo/dynamicinformer",
	Timeout: 2 * time.Minute,
	Skips: []skip{
		{Name: "TestWatchListSemanticsSimple", Why: "its server ends a streaming list with a bookmark that has no resource version", Row: "factory-streaming"},
	},
}

var metadatainformer = upstream{
	Path:    "metadata/metadatainformer",
	Ours:    "clientgo/metadatainformer",
	Timeout: 2 * time.Minute,
	Skips: []skip{
		{Name: "TestWatchListSemanticsSimple", Why: "its server ends a streaming list with a bookmark that has no resource version", Row: "factory-streaming"},
	},
}
