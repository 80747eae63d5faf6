# make            build everything          make check   what must hold before a commit
# make help       the rest
BUILD   ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
WERROR  ?= 0
V       ?= 0
SAN      =
Q        = $(if $(filter 1,$(V)),,@)

PKGS     := glib-2.0 gio-2.0 libcjson gsl
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wundef \
            -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
            $(if $(filter 1,$(WERROR)),-Werror)
CPPFLAGS += -I. -D_GNU_SOURCE -DG_LOG_USE_STRUCTURED \
            $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS)))
# SimGrid ends processes by throwing through their frames: everything they call unwinds.
CFLAGS   += -std=c17 $(WARN) -ffp-contract=off -fexceptions $(SAN)
LDLIBS   += $(shell pkg-config --libs $(PKGS)) -lsimgrid -lm

LIB_SRC  := $(sort $(wildcard sim/base/*.c sim/scenario/*.c sim/engine/*.c sim/training/*.c \
              sim/output/*.c sim/command/*.c models/*.c models/*/*.c))
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB      := $(BUILD)/libstepcast.a
TESTS    := $(TEST_SRC:%.c=$(BUILD)/%)
DATA     := $(sort $(wildcard models/catalogue/*/*.json))

.PHONY: all check clean
.SECONDARY:
all: $(BUILD)/stepcast

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIB): $(LIB_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/stepcast: $(BUILD)/sim/main.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcunit

check: $(TESTS)  ## unit tests
	$(Q)set -e; for t in $(TESTS); do echo "  TEST  $$t"; $$t >$$t.log || { cat $$t.log; exit 1; }; done

clean:
	rm -rf build build-*

-include $(LIB_OBJ:.o=.d) $(TEST_SRC:%.c=$(BUILD)/%.d) $(BUILD)/sim/main.d
