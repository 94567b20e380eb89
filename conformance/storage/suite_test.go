package storage_test

import (
	"context"
	"testing"

	suite "k8s.io/apiserver/pkg/storage/testing"
)

// wired are the functions of the suite that judge ours.
var wired = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, h *harness)
	// storeOnly is the reason why a function does not judge the cache, and
	// cacheOnly why it does not judge the store.
	storeOnly, cacheOnly string
}{
	// Writes.
	{name: "RunTestCreate", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCreate(ctx, t, h, h.checkStored)
	}},
	{name: "RunTestCreateWithKeyExist", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCreateWithKeyExist(ctx, t, h)
	}},
	{name: "RunTestUnconditionalDelete", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestUnconditionalDelete(ctx, t, h)
	}},
	{name: "RunTestConditionalDelete", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestConditionalDelete(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestionAndConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestionAndConflict(ctx, t, h)
	}},
	{name: "RunTestDeleteWithConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithConflict(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestionOfDeletedObject", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestionOfDeletedObject(ctx, t, h)
	}},
	{name: "RunTestValidateDeletionWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestValidateDeletionWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestValidateDeletionWithOnlySuggestionValid", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestValidateDeletionWithOnlySuggestionValid(ctx, t, h)
	}},
	{name: "RunTestPreconditionalDeleteWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestPreconditionalDeleteWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestPreconditionalDeleteWithOnlySuggestionPass", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestPreconditionalDeleteWithOnlySuggestionPass(ctx, t, h)
	}},
	{name: "RunTestGuaranteedUpdate", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdate(ctx, t, h.transformable(), h.checkStored)
	}},
	{name: "RunTestGuaranteedUpdateChecksStoredData", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateChecksStoredData(ctx, t, h.transformable())
	}},
	{name: "RunTestGuaranteedUpdateWithConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateWithConflict(ctx, t, h)
	}},
	{name: "RunTestGuaranteedUpdateWithSuggestionAndConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateWithSuggestionAndConflict(ctx, t, h)
	}},

	// Reads.
	{name: "RunTestGet", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGet(ctx, t, h)
	}},
	{name: "RunTestList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestList(ctx, t, h, h.compact, true, h.recorder())
	}},
	{name: "RunTestConsistentList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestConsistentList(ctx, t, h, h.increase, h.cache != nil, true, true)
	}},
	{name: "RunTestGetListNonRecursive", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGetListNonRecursive(ctx, t, h.increase, h)
	}},
	{name: "RunTestGetListRecursivePrefix", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGetListRecursivePrefix(ctx, t, h)
	}},
	{name: "RunTestListPaging", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListPaging(ctx, t, h)
	}},
	{name: "RunTestListContinuation", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListContinuation(ctx, t, h, nil)
	}},
	{name: "RunTestListContinuationWithFilter", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListContinuationWithFilter(ctx, t, h, nil)
	}},
	{name: "RunTestListPaginationRareObject", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListPaginationRareObject(ctx, t, h, nil)
	}},
	{name: "RunTestListInconsistentContinuation", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListInconsistentContinuation(ctx, t, h.paging(), h.compact)
	}},
	{name: "RunTestListResourceVersionMatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListResourceVersionMatch(ctx, t, h.transformable())
	}, storeOnly: "it writes whenever a value is decoded, and a cache decodes whatever is written"},
	{name: "RunTestNamespaceScopedList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestNamespaceScopedList(ctx, t, h)
	}},
	{name: "RunTestCompactRevision", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCompactRevision(ctx, t, h, h.increase, h.compact)
	}},
	{name: "RunTestTransformationFailure", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestTransformationFailure(ctx, t, h.transformable())
	}},

	// Watches.
	{name: "RunTestWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatch(ctx, t, h)
	}},
	{name: "RunTestWatchFromZero", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchFromZero(ctx, t, h, h.forget)
	}},
	{name: "RunTestWatchFromNonZero", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchFromNonZero(ctx, t, h)
	}},
	{name: "RunTestDeleteTriggerWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteTriggerWatch(ctx, t, h)
	}},
	{name: "RunTestDelayedWatchDelivery", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDelayedWatchDelivery(ctx, t, h)
	}},
	{name: "RunTestWatchError", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchError(ctx, t, h.transformable())
	}, storeOnly: "it spoils objects that a cache has decoded before"},
	{name: "RunWatchErrorIsBlockingFurtherEvents", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchErrorIsBlockingFurtherEvents(ctx, t, h.transformable())
	}, storeOnly: "it spoils objects that a cache has decoded before"},
	{name: "RunTestWatchContextCancel", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchContextCancel(ctx, t, h)
	}},
	{name: "RunTestWatcherTimeout", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatcherTimeout(ctx, t, h)
	}},
	{name: "RunTestWatchDeleteEventObjectHaveLatestRV", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchDeleteEventObjectHaveLatestRV(ctx, t, h)
	}},
	{name: "RunTestWatchInitializationSignal", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchInitializationSignal(ctx, t, h)
	}},
	{name: "RunOptionalTestProgressNotify", run: func(ctx context.Context, t *testing.T, h *harness) {
		h.reportProgress(t, prefix+"test-ns/")
		suite.RunOptionalTestProgressNotify(ctx, t, h, h.increase)
	}, storeOnly: "it wants a bookmark when the storage makes progress, and a cache tells one a minute"},
	{name: "RunTestClusterScopedWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestClusterScopedWatch(ctx, t, h)
	}},
	{name: "RunTestNamespaceScopedWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestNamespaceScopedWatch(ctx, t, h)
	}},
	{name: "RunTestWatchDispatchBookmarkEvents", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchDispatchBookmarkEvents(ctx, t, h, true)
	}},
	{name: "RunTestOptionalWatchBookmarksWithCorrectResourceVersion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(ctx, t, h)
	}, cacheOnly: "it wants a bookmark though there is nothing new to tell; bookmarks like that come from a cache only"},
	{name: "RunSendInitialEventsBackwardCompatibility", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunSendInitialEventsBackwardCompatibility(ctx, t, h)
	}},
	{name: "RunWatchSemantics", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchSemantics(ctx, t, h)
	}},
	{name: "RunWatchSemanticInitialEventsExtended", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchSemanticInitialEventsExtended(ctx, t, h)
	}},
	{name: "RunWatchListMatchSingle", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchListMatchSingle(ctx, t, h)
	}},
}

// leftOut are the functions of the suite that judge nothing of ours, and why.
var leftOut = map[string]string{
	"RunTestCreateWithTTL":           leases,
	"RunTestGuaranteedUpdateWithTTL": leases,

	"RunTestStats": "ours keeps no statistics, which kube-apiserver has for its metrics and its priorities: " +
		"the adapter would be judged",
	"RunTestKeySchema": "ours has no paths: a key is a namespace and a name, so an object without a name " +
		"and a path without the prefix do not exist; the adapter would be judged",

	"RunTestDeleteExpectedTransformOrDecodeError":                         unsafeDelete,
	"RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError":   unsafeDelete,
	"RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError": unsafeDelete,
	"RunTestWatchWithUnsafeDelete":                                        unsafeDelete,
	"RunTestGetListWithErrorAggregation":                                  unsafeDelete,
	"RunTestGetListWithoutErrorAggregation": "it wants the objects before the corrupt one beside the error; " +
		"ours returns no part of a list that failed, and no client of kube-apiserver sees one",

	"RunBenchmarkWriteThroughput": benchmark,
	"RunBenchmarkStoreList":       benchmark,
	"RunBenchmarkStoreStats":      benchmark,
}

const (
	leases = "ours has no leases: of all resources only events have a time to live on kube-apiserver, " +
		"an hour, and a server for tests keeps them"
	unsafeDelete = "ours has neither the delete of an object that cannot be decoded " +
		"(AllowUnsafeMalformedObjectDeletion) nor the list of all those that cannot, which serves it: " +
		"what ours stores it has encoded itself"
	benchmark = "a benchmark judges nothing; the module bench measures ours"
)

func TestStore(t *testing.T) {
	for _, test := range wired {
		if test.cacheOnly == "" {
			t.Run(test.name, func(t *testing.T) { test.run(context.Background(), t, newStore(t)) })
		}
	}
}

func TestCacher(t *testing.T) {
	for _, test := range wired {
		if test.storeOnly == "" {
			t.Run(test.name, func(t *testing.T) { test.run(context.Background(), t, newCache(t)) })
		}
	}
}
