# Guideway. `make run` installs what is missing, builds and starts the appliance; `make test` does
# the same set-up and runs every test. README.md tells the rest.

BUILD ?= build
comma := ,
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wvla -Werror
# Bits must not depend on how the compiler contracts or reorders: no fused products, no fast-math.
MATHS := -ffp-contract=off -fno-math-errno -fno-trapping-math -fcx-limited-range
# vectors and quaternions are worth inlining: an eighth of a solve's time
OPT ?= -O2 -finline-limit=400 $(BLOCKS)
# gcc copies and clears structs of 100 to 500 bytes by rep movs and rep stos, which take some 35
# cycles to begin: by vector registers a solve takes a tenth less, a step with contacts up to a
# seventh. The bits of results are the same.
BLOCKS := $(and $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),$(findstring gcc,$(notdir $(CC))),\
            -mmemset-strategy=vector_loop:512:noalign$(comma)libcall:-1:noalign \
            -mmemcpy-strategy=vector_loop:512:noalign$(comma)libcall:-1:noalign)
# -g1: functions and lines alone, in three quarters of the time to compile
DEBUG ?= -g
CFLAGS += -std=c17 -D_GNU_SOURCE $(DEBUG) $(OPT) $(MATHS) $(WARN) -I. -MMD -MP -pthread
LDLIBS_RT := -llapacke -lm
LDLIBS := $(LDLIBS_RT) -lmicrohttpd -lwebsockets -ljansson -lexpat -lsqlite3 -lz -pthread

RT_SRC := $(wildcard rt/*/*.c rt/*/*/*.c)
DRIVER_SRC := $(wildcard drivers/*.c)
SERVER_SRC := $(wildcard server/*/*.c) $(wildcard tests/bench/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
ORACLE_SRC := tests/oracle/oracle.c tests/oracle/making.c tests/oracle/judge.c tests/oracle/campaign.c \
              tests/oracle/free_form.c tests/oracle/shapes.c tests/oracle/nearest_campaign.c

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

.PHONY: deps deps-test build lib run test unit unit-together unit-alone unit-build api api-together api-alone page \
        unit-beside-page check bench verify verify-systems fuzz fuzz-keep tools asan tsan format clean install

build: $(BUILD)/guideway

lib: $(BUILD)/libguideway.a $(BUILD)/guideway.pc

$(BUILD)/guideway.pc:
	@mkdir -p $(@D)
	@printf '%s\n' 'Name: guideway' 'Description: rigid-body positioning and guided motion' \
	    'Version: 0.1.0' 'Cflags: -I$(CURDIR)' \
	    'Libs: -L$(abspath $(BUILD)) -lguideway $(LDLIBS_RT) -pthread' > $@

# ---- installed: make install PREFIX=/usr DESTDIR=/tmp/package ----------------------------------

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
COMMANDS := serve solve run assemble surface import selftest bench
# what a program that includes rt/guideway.h sees, and the contract of drivers
PUBLIC = $(shell $(CC) -MM -I. rt/guideway.h 2>/dev/null | tr ' \\' '\n\n' | grep '\.h$$' | sort -u)

# the page and the bundled scenes are inside the binary; the scenes' files are for reading and editing
install: $(BUILD)/guideway $(BUILD)/libguideway.a
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(DATADIR)/guideway/scenes
	install -m 755 $(BUILD)/guideway $(DESTDIR)$(BINDIR)/guideway
	install -m 644 $(BUILD)/libguideway.a $(DESTDIR)$(LIBDIR)/libguideway.a
	install -m 644 $(SCENES) $(DESTDIR)$(DATADIR)/guideway/scenes
	for h in $(PUBLIC); do install -D -m 644 $$h $(DESTDIR)$(INCLUDEDIR)/guideway/$$h || exit 1; done
	printf '%s\n' 'Name: guideway' 'Description: rigid-body positioning and guided motion' \
	    'Version: 0.1.0' 'Cflags: -I$(INCLUDEDIR)/guideway' \
	    'Libs: -L$(LIBDIR) -lguideway $(LDLIBS_RT) -pthread' > $(DESTDIR)$(LIBDIR)/pkgconfig/guideway.pc
	$(BUILD)/guideway man > $(DESTDIR)$(MANDIR)/man1/guideway.1
	for c in $(COMMANDS); do $(BUILD)/guideway man $$c > $(DESTDIR)$(MANDIR)/man1/guideway-$$c.1 || exit 1; done

# ---- what a machine must have: commands and headers, whatever package they came from -----------

NEEDS := command:gcc:gcc command:ar:binutils command:node:nodejs command:npm:npm \
         header:microhttpd.h:libmicrohttpd-dev header:libwebsockets.h:libwebsockets-dev \
         header:jansson.h:libjansson-dev header:expat.h:libexpat1-dev header:sqlite3.h:libsqlite3-dev \
         header:zlib.h:zlib1g-dev header:lapacke.h:liblapacke-dev
NEEDS_TEST := header:cmocka.h:libcmocka-dev command:chromium:chromium command:curl:curl \
              command:python3:python3 command:clang-format:clang-format command:pkg-config:pkg-config
NEEDS_FUZZ := command:clang:clang clang:-fsanitize=fuzzer:libclang-rt-14-dev

deps:
	@sh tests/deps.sh $(NEEDS)

deps-test:
	@sh tests/deps.sh $(NEEDS) $(NEEDS_TEST)

# ---- the library -------------------------------------------------------------------------------

# Numbers that were stored one by one wait for each other where they are loaded in pairs: a twentieth
# of a system's step.
$(BUILD)/obj/rt/dynamics/%.o: OPT += -fno-tree-slp-vectorize

# Joints of two, three and six coordinates: their loops unroll, a third less of a tick with fifty.
$(BUILD)/obj/rt/dynamics/system_tree.o: OPT += -O3

# Loops over axes and columns of a stage unroll: a sixteenth of a guided body's step, a tenth of one
# on a surface; and those over tangents of two surfaces: a thirtieth of a step that rolls.
$(addprefix $(BUILD)/obj/rt/dynamics/,guided.o guided_edges.o guided_floating.o surface_contact.o contact_points.o \
    line_contact.o): OPT += -O3

# Loops over three parts and a triangle of a matrix, each a few vectors: without them a sixth less.
$(BUILD)/obj/rt/geometry/batched_newton.o: OPT += -O3

# Loops over control points and orders of the degrees that are met most: a fifth to a third less of
# an evaluation.
$(BUILD)/obj/rt/geometry/nurbs.o: OPT += -O3

# the server's threads have small stacks
$(BUILD)/obj/server/%.o: WARN += -Wframe-larger-than=32768

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(CFLAGS) -c $< -o $@

$(BUILD)/libguideway.a: $(call obj,$(RT_SRC) $(DRIVER_SRC))
	@rm -f $@
	@echo "  AR    $@"
	@ar rcs $@ $^
	@twice=$$(nm -g --defined-only $@ | awk '$$2 ~ /^[TDBR]$$/ {print $$3}' | sort | uniq -d); \
	    test -z "$$twice" || { echo "defined twice: $$twice"; rm -f $@; exit 1; }

# ---- the page and the scenes go into the binary, so that it runs from any folder ---------------

NODE_MODULES := web/node_modules/.package-lock.json
WEB_SRC := $(shell find web/src web/public -type f 2>/dev/null) web/build.mjs web/package.json
SCENES := $(sort $(wildcard scenes/*.json))
# sanitizer builds take the page of the plain one
WEB_OUT ?= $(BUILD)/web

$(NODE_MODULES): web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(WEB_OUT)/.stamp: $(WEB_SRC) $(NODE_MODULES)
	cd web && node build.mjs $(abspath $(WEB_OUT))
	@touch $@

$(BUILD)/assets.S: $(WEB_OUT)/.stamp $(SCENES) server/files/assets.sh
	@mkdir -p $(@D)
	@echo "  EMBED $@"
	@sh server/files/assets.sh $(WEB_OUT) scenes > $@

$(BUILD)/obj/assets.o: $(BUILD)/assets.S
	@mkdir -p $(@D)
	@$(CC) -c $< -o $@

$(BUILD)/guideway: $(call obj,$(SERVER_SRC)) $(BUILD)/obj/assets.o $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# the REST interface as an OpenAPI document: the page's types come from it
$(BUILD)/openapi.json: $(BUILD)/guideway
	@$(BUILD)/guideway openapi > $@

# compiled on all processors, unless make was told how many
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

run: deps
	@$(MAKE) --no-print-directory $(JOBS) build
	$(BUILD)/guideway serve

# ---- tests -------------------------------------------------------------------------------------

UNIT_BIN := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))

# what tests share
$(BUILD)/liboracle.a: $(call obj,$(ORACLE_SRC))
	@rm -f $@
	@echo "  AR    $@"
	@ar rcs $@ $^

# tests compile in a third of the time; what they test is optimised as ever
$(BUILD)/unit/%: private OPT := -O1

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/liboracle.a $(BUILD)/libguideway.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $< $(BUILD)/liboracle.a $(BUILD)/libguideway.a $(LDFLAGS) $(LDLIBS_RT) -lcmocka

# this one reads scenes as the server does
$(BUILD)/unit/test_bundled: tests/unit/test_bundled.c $(call obj,$(wildcard server/schema/*.c)) $(BUILD)/libguideway.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(LDFLAGS) $(LDLIBS_RT) -lcmocka -ljansson

# and this one the heads of requests
$(BUILD)/unit/test_request_head: tests/unit/test_request_head.c $(call obj,server/net/request_head.c server/net/guard.c)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $(filter %.c %.o,$^) $(LDFLAGS) -lcmocka

# and this one the methods that the benchmark compares
$(BUILD)/unit/test_baselines: tests/unit/test_baselines.c $(call obj,tests/bench/baseline.c) $(BUILD)/libguideway.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(LDFLAGS) $(LDLIBS_RT) -lcmocka

# The page's tests need one processor, and that only half of the time: the tests of C, which only compute, take what
# they leave.
test: deps-test
	@$(MAKE) --no-print-directory $(JOBS) build unit-build
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory -j2 page unit-beside-page
	@$(MAKE) --no-print-directory -j1 unit-alone api

unit-beside-page:
	@nice -n 19 $(MAKE) --no-print-directory -j1 AT_ONCE='($$$$(nproc) + 1) / 2' unit-together

$(BUILD)/example-solve: examples/solve.c $(BUILD)/libguideway.a
	@$(CC) $(CFLAGS) -o $@ $< $(BUILD)/libguideway.a $(LDFLAGS) $(LDLIBS_RT)

# every header of rt/ stands alone, and all of them go together into one file
RT_HEADERS := $(sort $(wildcard rt/*.h rt/*/*.h rt/*/*/*.h))

$(BUILD)/headers.o: $(RT_HEADERS)
	@mkdir -p $(@D)
	@echo "  CC    all headers of rt/"
	@for h in $(RT_HEADERS); do \
	    printf '#include "%s"\nextern int unit;\n' $$h | $(CC) $(CFLAGS) -MF /dev/null -x c -fsyntax-only - || exit 1; \
	done
	@{ printf '#include "%s"\n' $(RT_HEADERS); echo 'extern int unit;'; } | $(CC) $(CFLAGS) -MF /dev/null -x c -c -o $@ -

$(BUILD)/example-steps: examples/steps.c $(BUILD)/libguideway.a
	@$(CC) $(CFLAGS) -o $@ $< $(BUILD)/libguideway.a $(LDFLAGS) $(LDLIBS_RT)

# these measure time: nothing runs beside them; of the others as many at once as there are processors
UNIT_ALONE := $(BUILD)/unit/test_loop $(BUILD)/unit/test_watchdog

# a test that measures time and fails says nothing while a processor stood still for a quarter of the 20 ms
# after which a latched device is off
WHEN_AWAKE := $(BUILD)/when_awake 5 4

unit-build: $(UNIT_BIN) $(BUILD)/when_awake $(BUILD)/headers.o $(BUILD)/example-solve $(BUILD)/example-steps $(BUILD)/fuzz-replay $(BUILD)/fuzz-parse-replay \
            $(BUILD)/fuzz-stream-replay

# no fused products where one processor would have them and another would not
WIDE_OBJ = $(call obj,$(shell grep -l GW_TARGET_CLONES rt/*/*.c rt/*/*/*.c))

# tests of C, and files of the API, that run at once
AT_ONCE ?= $$(nproc)

unit: unit-together
	@$(MAKE) --no-print-directory unit-alone

unit-together: unit-build
	@! objdump -d --no-show-raw-insn $(WIDE_OBJ) | grep -E '[[:space:]]vfn?m(add|sub)'
	@$(BUILD)/example-solve
	@$(BUILD)/example-steps
	@echo "== $(BUILD)/fuzz-replay"; $(BUILD)/fuzz-replay tests/fuzz/corpus
	@echo "== $(BUILD)/fuzz-parse-replay"; $(BUILD)/fuzz-parse-replay tests/fuzz/parse
	@echo "== $(BUILD)/fuzz-stream-replay"; $(BUILD)/fuzz-stream-replay tests/fuzz/stream
	@printf '%s\n' $(filter-out $(UNIT_ALONE),$(UNIT_BIN)) | xargs -P "$$(($(AT_ONCE)))" -I{} sh -c \
	    'echo "== {}"; {} > {}.log 2>&1 || { cat {}.log; echo "{} failed"; exit 255; }'

unit-alone: unit-build
	@set -e; for t in $(UNIT_ALONE); do echo "== $$t"; $(WHEN_AWAKE) $$t; done

# ---- the solver against brute force: SECONDS of random problems, from SEED ----------------------

WIRE_SRC := $(wildcard server/schema/*.c)
SEED ?= 1

$(BUILD)/verify: $(call obj,tests/oracle/verify.c $(WIRE_SRC)) $(BUILD)/liboracle.a $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT) -ljansson

verify: SECONDS ?= 600
verify: $(BUILD)/verify
	$(BUILD)/verify $(SECONDS) $(SEED)

# ---- random systems of bodies: SECONDS of them, from SEED, each for 10 s at 1 kHz ---------------

$(BUILD)/verify-systems: $(call obj,tests/oracle/verify_systems.c) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT)

verify-systems: SECONDS ?= 600
verify-systems: $(BUILD)/verify-systems
	$(BUILD)/verify-systems $(SECONDS) $(SEED)

# ---- scenes with loops and velocity constraints: MINUTES of each; DRIFT: which ----------------------

$(BUILD)/verify-drift: $(call obj,tests/oracle/verify_drift.c $(WIRE_SRC)) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT) -ljansson -lcmocka

.PHONY: verify-drift
verify-drift: MINUTES ?= 10
verify-drift: $(BUILD)/verify-drift
	$(BUILD)/verify-drift $(MINUTES) $(DRIFT)

# ---- closest points of surfaces: QUERIES of the global search and STEPS along branches, from SEED --

$(BUILD)/verify-nearest: $(call obj,tests/oracle/verify_nearest.c) $(BUILD)/liboracle.a $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT)

.PHONY: verify-nearest
verify-nearest: QUERIES ?= 100000
verify-nearest: STEPS ?= 1000000
verify-nearest: $(BUILD)/verify-nearest
	$(BUILD)/verify-nearest $(QUERIES) $(STEPS) $(SEED)

# ---- parsers and the solver under a coverage-guided fuzzer; their corpora without one -------------

FUZZ_SRC := tests/fuzz/coded.c tests/fuzz/fuzz_solve.c
FUZZED_SRC := $(RT_SRC) $(DRIVER_SRC) $(WIRE_SRC) $(ORACLE_SRC) $(FUZZ_SRC)
FUZZ_FLAGS := -std=c17 -D_GNU_SOURCE -g -O1 $(filter-out -fcx-limited-range,$(MATHS)) -fno-omit-frame-pointer -I. -MMD -MP -pthread \
              -fsanitize=address,undefined -fno-sanitize-recover=all -DGW_WITH_LIBFUZZER

$(BUILD)/fuzz-replay: $(call obj,tests/fuzz/replay.c $(FUZZ_SRC) $(WIRE_SRC)) $(BUILD)/liboracle.a $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT) -ljansson

PARSE_SRC := tests/fuzz/fuzz_parse.c server/files/urdf.c server/files/urdf_parse.c server/files/mesh_file.c \
             server/net/request_head.c server/net/framing.c server/net/guard.c server/net/ws_frame.c

STREAM_SRC := tests/fuzz/fuzz_stream.c server/net/stream_message.c server/net/stream_lease.c server/net/stream_wrenches.c \
              server/net/guard.c server/net/request_head.c server/app/describe.c server/app/diff.c

$(BUILD)/fuzz-stream-replay: $(call obj,tests/fuzz/replay.c $(STREAM_SRC) $(WIRE_SRC)) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT) -ljansson

$(BUILD)/fuzz-parse-replay: $(call obj,tests/fuzz/replay.c $(PARSE_SRC) $(WIRE_SRC)) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS_RT) -ljansson -lexpat

$(BUILD)/obj/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CLANG $<"
	@clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(BUILD)/fuzz-solve: $(patsubst %.c,$(BUILD)/obj/fuzz/%.o,$(FUZZED_SRC))
	@echo "  LINK  $@"
	@clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS_RT) -ljansson

# the parsers alone are watched; the library behind them is as it is built
$(BUILD)/fuzz-parse: $(patsubst %.c,$(BUILD)/obj/fuzz/%.o,$(WIRE_SRC) $(PARSE_SRC)) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS_RT) -ljansson -lexpat

# so are what the stream's messages do, and the lease
$(BUILD)/fuzz-stream: $(patsubst %.c,$(BUILD)/obj/fuzz/%.o,$(WIRE_SRC) $(STREAM_SRC)) $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS_RT) -ljansson

# what is new goes to $(BUILD)/fuzz; what is untrue stays there as crash-..., its problem on the screen
fuzz: SECONDS ?= 600
fuzz:
	@sh tests/deps.sh $(NEEDS) $(NEEDS_FUZZ)
	@$(MAKE) --no-print-directory $(BUILD)/fuzz-solve $(BUILD)/fuzz-parse $(BUILD)/fuzz-stream
	@mkdir -p $(BUILD)/fuzz/found $(BUILD)/fuzz/parsed $(BUILD)/fuzz/said
	$(BUILD)/fuzz-stream -max_len=2048 -timeout=20 -max_total_time=$(SECONDS) -dict=tests/fuzz/stream.dict \
	    -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/said tests/fuzz/stream
	$(BUILD)/fuzz-parse -max_len=4096 -timeout=20 -max_total_time=$(SECONDS) -dict=tests/fuzz/parse.dict \
	    -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/parsed tests/fuzz/parse
	$(BUILD)/fuzz-solve -max_len=212 -timeout=120 -max_total_time=$(SECONDS) \
	    -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found tests/fuzz/corpus

# the fewest inputs that reach all that the found and the kept ones reach
fuzz-keep: $(BUILD)/fuzz-solve $(BUILD)/fuzz-parse $(BUILD)/fuzz-stream
	@rm -rf $(BUILD)/fuzz/kept && mkdir -p $(BUILD)/fuzz/kept
	$(BUILD)/fuzz-stream -max_len=2048 -use_counters=0 -merge=1 $(BUILD)/fuzz/kept tests/fuzz/stream $(BUILD)/fuzz/said
	@rm -f tests/fuzz/stream/* && cp $(BUILD)/fuzz/kept/* tests/fuzz/stream/
	@rm -rf $(BUILD)/fuzz/kept && mkdir -p $(BUILD)/fuzz/kept
	$(BUILD)/fuzz-parse -max_len=4096 -use_counters=0 -merge=1 $(BUILD)/fuzz/kept tests/fuzz/parse $(BUILD)/fuzz/parsed
	@rm -f tests/fuzz/parse/* && cp $(BUILD)/fuzz/kept/* tests/fuzz/parse/
	@rm -rf $(BUILD)/fuzz/kept && mkdir -p $(BUILD)/fuzz/kept
	$(BUILD)/fuzz-solve -max_len=212 -use_counters=0 -merge=1 $(BUILD)/fuzz/kept tests/fuzz/corpus $(BUILD)/fuzz/found
	@rm -f tests/fuzz/corpus/* && cp $(BUILD)/fuzz/kept/* tests/fuzz/corpus/

# GUIDEWAY names the binary that the tests start; a test that hangs ends with its file. Each file starts
# its own servers, on free ports and with folders of their own. ALONE measure time or load the machine:
# nothing runs beside them. Of the others as many at once as there are processors, the longest first, and
# besides them those that mostly WAIT, for time to pass at the appliance.
API_ALONE := durable edits faults halt-load halt lease loop moving stall state step stream stress
API_WAIT := tasks bits access
API_LONG := systems surfaces memory gallery
API_REST := $(filter-out $(API_ALONE) $(API_WAIT) $(API_LONG),$(patsubst tests/api/%.test.mjs,%,$(wildcard tests/api/*.test.mjs)))

# $(call each,NAMES,AT ONCE,COMMAND): COMMAND for each name {}, with a log of its own
each = printf '%s\n' $(1) | GUIDEWAY=$(abspath $<) xargs -P "$$(($(2)))" -I{} sh -c \
    '$(3) > $(BUILD)/$@/{}.log 2>&1; status=$$?; echo "== $@: {}"; cat $(BUILD)/$@/{}.log; \
    [ $$status = 0 ] || { echo "{} failed"; exit 255; }'
API_TEST := node --test tests/api/{}.test.mjs
BESIDE := timeout -k 10 900 $(BUILD)/when_awake 100 2 $(API_TEST)

api: api-together
	@$(MAKE) --no-print-directory api-alone

api-together: $(BUILD)/guideway $(BUILD)/when_awake $(NODE_MODULES)
	@mkdir -p $(BUILD)/$@
	@{ $(call each,$(API_WAIT),3,$(BESIDE)); } & waits=$$!; \
	{ $(call each,$(API_LONG) $(API_REST),$(AT_ONCE),$(BESIDE)); }; status=$$?; wait $$waits && exit $$status

api-alone: $(BUILD)/guideway $(BUILD)/when_awake $(NODE_MODULES)
	@mkdir -p $(BUILD)/$@
	@$(call each,$(API_ALONE),1,timeout -k 10 900 $(WHEN_AWAKE) $(API_TEST))
	sh tests/install.sh $(BUILD)

# files that share a browser, which draws with the processor: one for two processors
space := $(subst ,, )
PAGE_GROUPS := story,joining,relations,joined,assembly,freedoms,tasks mechanisms,contacts,surfaces view,keyboard,trust
PAGE_REST := $(filter-out $(subst $(comma), ,$(PAGE_GROUPS)),$(patsubst tests/web/%.test.mjs,%,$(wildcard tests/web/*.test.mjs)))
PAGE_GROUPS += $(subst $(space),$(comma),$(strip $(PAGE_REST)))

page: $(BUILD)/guideway $(BUILD)/when_awake $(NODE_MODULES)
	@mkdir -p $(BUILD)/$@
	@$(call each,$(PAGE_GROUPS),($$(nproc) + 1) / 2,PAGE_TESTS={} \
	    timeout -k 10 1200 $(BUILD)/when_awake 100 2 node --test tests/web/all.mjs)

check: $(NODE_MODULES) $(BUILD)/openapi.json
	@sh tests/check.sh
	cd web && OPENAPI=$(abspath $(BUILD)/openapi.json) npm run --silent check

bench: $(BUILD)/guideway $(NODE_MODULES)
	$(BUILD)/guideway bench --csv $(BUILD)/bench.csv
	GUIDEWAY=$(abspath $<) node tests/bench/moving.mjs
	GUIDEWAY=$(abspath $<) node tests/bench/page.mjs

# ---- all of the benchmark, on a quiet machine, into its CSV and the tables of docs/figures.md ---------

BENCH_CSV ?= tests/bench/cloud-2cpu.csv
.PHONY: bench-table
bench-table: $(BUILD)/guideway $(NODE_MODULES)
	-$(BUILD)/guideway bench --csv $(BUILD)/bench.csv
	GUIDEWAY=$(abspath $<) node tests/bench/moving.mjs | grep '^[a-z].*,' > $(BUILD)/bench-moving.csv
	GUIDEWAY=$(abspath $<) node tests/bench/page.mjs | grep '^[a-z].*,' > $(BUILD)/bench-page.csv
	@{ echo "# make bench-table: build/guideway bench --csv, moving.mjs, page.mjs; $$(nproc) CPUs, $$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"; \
	    cat $(BUILD)/bench.csv; echo; cat $(BUILD)/bench-moving.csv; echo; cat $(BUILD)/bench-page.csv; } > $(BENCH_CSV)
	node tests/bench/figures.mjs $(BENCH_CSV)
	node tests/bench/growth.mjs $(BENCH_CSV) rt/positioning/growth.svg

# ---- the papers' figures that show data, beside what the papers say: build/figures ----------------

.PHONY: figures
figures: $(BUILD)/guideway $(NODE_MODULES)
	GUIDEWAY=$(abspath $<) node tests/figures/figures.mjs $(BUILD)/figures

# ---- all at once for SECONDS: load, stops, failing devices, edits, kill -9; table in $(BUILD) ------

$(BUILD)/obj/soak/registry.o: drivers/registry.c
	@mkdir -p $(@D)
	@echo "  CC    $< with the device that fails"
	@$(CC) $(CFLAGS) -DGW_WITH_FAULTS -c $< -o $@

$(BUILD)/guideway-faults: $(call obj,$(SERVER_SRC) tests/soak/faults.c) $(BUILD)/obj/soak/registry.o $(BUILD)/obj/assets.o $(BUILD)/libguideway.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

.PHONY: soak
soak: SECONDS ?= 3600
soak: $(BUILD)/guideway-faults $(NODE_MODULES)
	GUIDEWAY_FAULTS=$(abspath $<) node tests/soak/soak.mjs $(SECONDS) $(BUILD)/soak.md

# ---- what makes tables of the source: run by hand ----------------------------------------------

tools: $(BUILD)/make_start_system

$(BUILD)/make_start_system: tests/tools/make_start_system.c $(BUILD)/libguideway.a
	@$(CC) $(CFLAGS) -o $@ $< $(BUILD)/libguideway.a $(LDFLAGS) $(LDLIBS_RT)

$(BUILD)/when_awake: tests/tools/when_awake.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS)

# ---- sanitizers: the C tests, and ten seconds of edits and dragging at the real server ----------

SANITIZED = $(MAKE) --no-print-directory BUILD=$(BUILD)/$(1) WEB_OUT=$(BUILD)/web \
            OPT="-O1 -fno-omit-frame-pointer $(2)"

asan: $(BUILD)/web/.stamp
	$(call SANITIZED,asan,-fsanitize=address$(comma)undefined -fno-sanitize-recover=all) unit
	$(call SANITIZED,asan,-fsanitize=address$(comma)undefined -fno-sanitize-recover=all) stress

# by clang where there is one: the runtime of gcc 12 ends in its own sleep hook; it wants its addresses free
TSAN = $(if $(shell command -v clang),CC=clang MATHS="$(filter-out -fcx-limited-range,$(MATHS))" WARN=)
tsan: $(BUILD)/web/.stamp
	setarch -R $(call SANITIZED,tsan,-fsanitize=thread) $(TSAN) unit
	setarch -R $(call SANITIZED,tsan,-fsanitize=thread) $(TSAN) stress

.PHONY: stress
stress: $(BUILD)/guideway $(NODE_MODULES)
	GUIDEWAY=$(abspath $<) node --test tests/api/stress.test.mjs

format: $(NODE_MODULES)
	clang-format -i $(shell git ls-files '*.c' '*.h')
	cd web && npm run --silent format

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj $(BUILD)/unit -name '*.d' 2>/dev/null)
