# Guideway. `make run` installs what is missing, builds and starts the appliance; `make test` does
# the same set-up and runs every test. README.md tells the rest.

BUILD ?= build
CC ?= gcc
NODE_MODULES := web/node_modules

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wvla -Werror
# Bits must not depend on how the compiler contracts or reorders: no fused products, no fast-math.
MATHS := -ffp-contract=off -fno-math-errno -fno-trapping-math
OPT ?= -O2
CFLAGS += -std=c17 -D_GNU_SOURCE -g $(OPT) $(MATHS) $(WARN) -I. -MMD -MP -pthread
LDLIBS_RT := -llapacke -llapack -lblas -lm
LDLIBS := $(LDLIBS_RT) -lmicrohttpd -lwebsockets -ljansson -pthread

RT_SRC := $(wildcard rt/*/*.c)
DRIVER_SRC := $(wildcard drivers/*.c)
SERVER_SRC := $(wildcard server/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

.PHONY: deps build run test check bench asan tsan lib unit format clean

build: $(BUILD)/guideway

lib: $(BUILD)/libguideway.a

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

$(BUILD)/libguideway.a: $(call obj,$(RT_SRC) $(DRIVER_SRC))
	@rm -f $@
	ar rcs $@ $^

# ---- the page and the scenes go into the binary, so that it runs from any folder --------------

WEB_SRC := $(shell find web/src web/public -type f 2>/dev/null) web/build.mjs web/package.json
SCENES := $(sort $(wildcard scenes/*.json))

$(NODE_MODULES)/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(BUILD)/web/.stamp: $(WEB_SRC) $(NODE_MODULES)/.package-lock.json
	cd web && node build.mjs $(abspath $(BUILD))/web
	@touch $@

$(BUILD)/assets.S: $(BUILD)/web/.stamp $(SCENES) server/assets.sh server/openapi.json
	sh server/assets.sh $(BUILD)/web scenes server/openapi.json > $@

$(BUILD)/obj/assets.o: $(BUILD)/assets.S
	@mkdir -p $(@D)
	$(CC) -c $< -o $@

$(BUILD)/guideway: $(call obj,$(SERVER_SRC)) $(BUILD)/obj/assets.o $(BUILD)/libguideway.a
	$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# ---- tests ------------------------------------------------------------------------------------

UNIT_BIN := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libguideway.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< $(BUILD)/libguideway.a $(LDFLAGS) $(LDLIBS_RT) -lcmocka

unit: $(UNIT_BIN)
	@set -e; for t in $(UNIT_BIN); do $$t; done

format:
	clang-format -i $(shell git ls-files '*.c' '*.h')

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
