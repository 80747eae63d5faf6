# make            build the program      make check   what must hold before a commit
# make help       the rest
BUILD   ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
WERROR  ?= 0
V       ?= 0
CUDA    ?= auto
SAN      =
CASES   ?= 5000
FUZZ_TIME ?= 60
FUZZ_RUNS ?= 100000
FUZZ_CC   ?= clang
RATE    ?= 50 Mbit/s
PASSES  ?= 3
Q        = $(if $(filter 1,$(V)),,@)

# All cores unless -j says otherwise; a make inside a make shares its parent's.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-print-directory

PKGS     := glib-2.0 gio-2.0 libcjson gsl yajl
# Asked when first used: the goal `setup` may have to install pkg-config before.
PKG_CPPFLAGS = $(eval PKG_CPPFLAGS := $$(patsubst -I%,-isystem %,$$(shell pkg-config --cflags $(PKGS))))$(PKG_CPPFLAGS)
PKG_LIBS     = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PKGS)))$(PKG_LIBS)

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wundef \
            -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
            $(if $(filter 1,$(WERROR)),-Werror)
ALL_CPPFLAGS = -I. -D_GNU_SOURCE -DG_LOG_USE_STRUCTURED $(PKG_CPPFLAGS) $(CPPFLAGS) \
               $(if $(SAN),-DENGINE_CONTEXTS=thread)
# SimGrid ends processes by throwing through their frames: everything they call unwinds.
ALL_CFLAGS   = $(CFLAGS) -std=c17 $(WARN) -ffp-contract=off -fexceptions $(SAN)
ALL_LDLIBS   = $(PKG_LIBS) -lsimgrid -lm $(LDLIBS)

LIB_SRC  := $(sort $(wildcard sim/base/*.c sim/scenario/*.c sim/engine/*.c sim/training/*.c \
              sim/output/*.c sim/command/*.c models/*.c models/*/*.c \
              calibrate/*.c calibrate/*/*.c))
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/catalogue.o
LIB      := $(BUILD)/libstepcast.a
TESTS    := $(TEST_SRC:%.c=$(BUILD)/%)
DATA     := $(sort $(wildcard models/catalogue/*/*.json))
PROFILES := $(sort $(wildcard calibrate/profiles/*.json))
MPICC    := $(shell command -v mpicc)
MPI_PROGRAM = $(if $(MPICC),$(BUILD)/stepcast-mpi)
CHECKS   := $(sort $(wildcard tests/check-*.sh))
DEMO     := scenarios/demo-horovod.json scenarios/demo-ddp.json scenarios/demo-none.json
BIN_DIR   = $(DESTDIR)$(PREFIX)/bin
LIB_DIR   = $(DESTDIR)$(PREFIX)/lib/stepcast
MAN_DIR   = $(DESTDIR)$(PREFIX)/share/man/man1
SHARE_DIR = $(DESTDIR)$(PREFIX)/share/doc/stepcast
COMPLETION_DIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
C_FILES   = $(shell find sim models calibrate tests -name '*.[ch]' | sort)

# ---- CUDA, where it is ----
comma := ,
empty :=
space := $(empty) $(empty)
ifneq ($(filter auto yes no,$(CUDA)),$(CUDA))
$(error CUDA=$(CUDA): auto, yes or no)
endif
ifneq ($(CUDA),no)
NVCC ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
CUDA_ROOT := $(if $(NVCC),$(patsubst %/bin/,%,$(dir $(shell readlink -f $(NVCC)))))
CUDA_LIB := $(patsubst %/libcudart_static.a,%,$(firstword $(wildcard \
              $(CUDA_ROOT)/lib64/libcudart_static.a $(CUDA_ROOT)/lib/libcudart_static.a)))
# The newest of each generation that people train on, as far as this nvcc knows them; the
# last also as PTX, which newer GPUs translate.
CUDA_WANTED := 70 75 80 86 89 90 100 120
CUDA_ARCHES := $(if $(NVCC),$(filter $(CUDA_WANTED:%=sm_%),$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
CUDA_LAST   := $(lastword $(CUDA_ARCHES:sm_%=%))
CUDA_GENCODE = $(foreach n,$(CUDA_ARCHES:sm_%=%),-gencode arch=compute_$(n)$(comma)code=sm_$(n)) \
               -gencode arch=compute_$(CUDA_LAST)$(comma)code=compute_$(CUDA_LAST)
NCCL_HEADER := $(firstword $(wildcard $(CUDA_ROOT)/include/nccl.h /usr/include/nccl.h))
endif
CUDA_WHY := $(strip $(if $(filter no,$(CUDA)),CUDA=no was asked for,\
              $(if $(NVCC),,no nvcc in PATH or /usr/local/cuda/bin)\
              $(if $(NVCC),$(if $(CUDA_ARCHES),,$(NVCC) lists no architecture we know)\
                $(if $(CUDA_LIB),,no libcudart_static.a in $(CUDA_ROOT))\
                $(if $(wildcard $(CUDA_ROOT)/include/cublas_v2.h),,no cublas_v2.h)\
                $(if $(NCCL_HEADER),,no nccl.h))))
GPU_GOAL := $(if $(CUDA_WHY),$(if $(filter yes,$(CUDA)),gpu-missing,without-gpu),$(BUILD)/stepcast-gpu.so)
GPU_SRC  := $(sort $(wildcard calibrate/gpu/plugin/*.c))
GPU_OBJ  := $(GPU_SRC:%.c=$(BUILD)/%.o) $(BUILD)/calibrate/gpu/plugin/kernels.o \
            $(BUILD)/calibrate/gpu/plugin/condition.o
PLUGIN_TEST_OBJ := $(BUILD)/tests/plugin/test_plugin.o $(BUILD)/tests/plugin/fake_cuda.o
TESTS    += $(if $(CUDA_WHY),,$(BUILD)/tests/plugin/test_plugin)

.PHONY: all setup demo check run-checks reference run-fuzzers run-importers asan verify golden lint format format-check bench validate fit heldout profiles claims \
        testbed instructions fuzz fuzz-imports proof install uninstall clean help
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BUILD)/stepcast $(GPU_GOAL) $(MPI_PROGRAM)  ## the program, build/stepcast; CUDA=auto|yes|no: with stepcast-gpu.so

# For `calibrate host --mpi`: an MPI program of its own, where there is a compiler for it.
$(BUILD)/stepcast-mpi: tools/stepcast_mpi.c
	@mkdir -p $(@D)
	@echo "  MPICC $<"
	$(Q)$(MPICC) -O2 -std=c17 -D_GNU_SOURCE $(WARN) -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The catalogues and the profiles become part of the program. The folders are named so that
# a file that is taken away counts as a change.
$(BUILD)/catalogue.gresource.xml: $(DATA) $(PROFILES) $(sort $(dir $(DATA) $(PROFILES)))
	@mkdir -p $(@D)
	$(Q){ echo '<gresources><gresource prefix="/stepcast">'; \
	  for f in $(DATA:models/catalogue/%=%); do echo "<file>$$f</file>"; done; \
	  for f in $(PROFILES:calibrate/profiles/%=%); do \
	    echo "<file alias=\"profile/$$f\">profiles/$$f</file>"; done; \
	  echo '</gresource></gresources>'; } >$@

$(BUILD)/catalogue.c: $(BUILD)/catalogue.gresource.xml
	@echo "  DATA  $@"
	$(Q)glib-compile-resources --sourcedir=models/catalogue --sourcedir=calibrate --generate-source \
	  --manual-register --c-name catalogue --target=$@ $<

$(BUILD)/catalogue.o: $(BUILD)/catalogue.c
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -w -c -o $@ $<

$(LIB): $(LIB_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/stepcast: $(BUILD)/sim/main.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDLIBS)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDLIBS) -lcunit

# The part that knows CUDA, opened at run time: the program itself is built and runs without.
$(BUILD)/calibrate/gpu/plugin/kernels.o: calibrate/gpu/plugin/kernels.cu
	@mkdir -p $(@D)
	@echo "  NVCC  $< ($(subst $(space),$(comma),$(CUDA_ARCHES)))"
	$(Q)$(NVCC) -std=c++17 -O3 -fmad=false -I. -Xcompiler -fPIC -Xcompiler -fvisibility=hidden,-fno-threadsafe-statics \
	  $(CUDA_GENCODE) -MMD -MP -c -o $@ $<

$(BUILD)/calibrate/gpu/plugin/%.o: calibrate/gpu/plugin/%.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) -isystem $(CUDA_ROOT)/include $(ALL_CFLAGS) -fPIC \
	  -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/calibrate/gpu/plugin/condition.o: calibrate/gpu/condition.c
	@mkdir -p $(@D)
	@echo "  CC    $< (for the plug-in)"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/stepcast-gpu.so: $(GPU_OBJ) calibrate/gpu/plugin/exports.map
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -shared -s -o $@ $(GPU_OBJ) -Wl,-z,defs \
	  -Wl,--version-script=calibrate/gpu/plugin/exports.map -Wl,-rpath,$(CUDA_LIB) \
	  -L$(CUDA_LIB) -lcudart_static -lpthread -ldl -lrt -lm $$(pkg-config --libs glib-2.0)

# The plug-in's own code, all but the device's, over a CUDA runtime that is none.
$(BUILD)/tests/plugin/%.o: tests/plugin/%.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) -isystem $(CUDA_ROOT)/include $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/plugin/test_plugin: $(PLUGIN_TEST_OBJ) $(GPU_SRC:%.c=$(BUILD)/%.o) $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDLIBS) -lcunit

.PHONY: without-gpu gpu-missing
without-gpu:
	@echo "  without stepcast-gpu.so: $(CUDA_WHY)"

gpu-missing:
	@echo "CUDA=yes, but: $(CUDA_WHY)" >&2; exit 1

# Kept out of check: it starts some dozen MPI programs.
$(BUILD)/tests/reference/smpi: $(BUILD)/tests/reference/smpi.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDLIBS) -lcunit

reference: $(BUILD)/tests/reference/smpi  ## our engines against SimGrid's MPI, where smpirun is installed
	$(Q)program=$(BUILD)/tests/reference/mpi_collectives; \
	if command -v smpicc >/dev/null; then \
	  smpicc -O2 -std=c17 -D_GNU_SOURCE -o $$program tests/reference/mpi_collectives.c -lm; fi; \
	$< $$program || [ $$? -eq 77 ]

setup:  ## install the missing packages of tools/packages.txt (root or sudo)
	@tools/setup.sh

demo: setup  ## set up, build, and forecast one training job three ways
	$(Q)$(MAKE) all
	$(Q)$(BUILD)/stepcast run $(DEMO)

check: setup  ## unit tests, goldens, bad input, layers, words, documents
	$(Q)$(MAKE) run-checks

run-checks: $(TESTS) $(BUILD)/stepcast $(BUILD)/tests/validate/validate $(BUILD)/tests/testbed/testbed $(BUILD)/tests/validate/training
	$(Q)BUILD=$(BUILD) tests/run.sh $(BUILD)/check $(TESTS) $(CHECKS)

asan:  ## check, under the address and undefined-behaviour sanitizers, in build-asan/
	$(Q)$(MAKE) check BUILD=build-asan CFLAGS="-O1 -g" \
	  SAN="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

verify: setup  ## check with CASES (5000) random networks in the folding proof, reference, asan
	$(Q)$(MAKE) run-checks CASES=$(CASES)
	$(Q)$(MAKE) reference
	$(Q)$(MAKE) asan

golden: all $(BUILD)/tests/unit/test_output  ## rewrite tests/golden/ from what the program says now
	$(Q)STEPCAST_GOLDEN=rewrite $(BUILD)/tests/unit/test_output >/dev/null
	$(Q)BUILD=$(BUILD) tests/check-golden.sh --update
	$(Q)BUILD=$(BUILD) tests/check-bad.sh --update
	$(Q)BUILD=$(BUILD) tests/check-docs.sh --update
	$(Q)BUILD=$(BUILD) tests/check-bad.sh --update

lint:  ## layers, banned words, clang-tidy, cppcheck (each where its tool is there)
	@tests/check-layers.sh
	@tests/check-words.sh
	@tools/lint.sh "$(ALL_CPPFLAGS)" $(wildcard sim/main.c) $(LIB_SRC)

format:  ## clang-format every file
	$(Q)clang-format -i $(C_FILES)

format-check:  ## fail if clang-format would change a file
	$(Q)clang-format --dry-run --Werror $(C_FILES)

bench: all $(BUILD)/tests/bench/measure  ## wall time and memory, ratios measured side by side
	$(Q)BUILD=$(BUILD) tests/bench/run.sh

instructions: all  ## instructions per benchmark, counted by callgrind: the same on every day
	$(Q)BUILD=$(BUILD) tests/bench/instructions.sh

validate: $(BUILD)/tests/validate/validate $(BUILD)/tests/validate/training  ## predicted against measured: public tables of nccl-tests and of training
	$(Q)$(BUILD)/tests/validate/validate
	$(Q)$(BUILD)/tests/validate/training

fit: $(BUILD)/tests/validate/fit  ## constants that come from public tables, fitted again: tests/validate/fit.json
	$(Q)$(BUILD)/tests/validate/fit

heldout: $(BUILD)/tests/validate/heldout $(BUILD)/tests/validate/extrapolation  ## the fits of calibrate against times that they did not see
	$(Q)$(BUILD)/tests/validate/heldout
	$(Q)$(BUILD)/tests/validate/extrapolation

profiles: $(BUILD)/stepcast  ## make calibrate/profiles/ anew, from the logs in tests/reference
	$(Q)tools/profiles.sh $(BUILD)/stepcast calibrate/profiles

claims: $(BUILD)/tests/validate/claims  ## reported beside predicted: scenarios/claims
	$(Q)$(BUILD)/tests/validate/claims

$(BUILD)/tests/validate/%: $(BUILD)/tests/validate/%.o $(BUILD)/tests/validate/cases.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDLIBS)

testbed: all $(BUILD)/tests/testbed/testbed  ## measured in network namespaces against predicted (root, two minutes)
	$(Q)tests/testbed/teardown.sh $(BUILD)/stepcast || [ $$? -eq 77 ]
	$(Q)$(BUILD)/tests/testbed/testbed "$(RATE)" $(PASSES) $(BUILD)/stepcast-mpi || [ $$? -eq 77 ]

$(BUILD)/tests/testbed/testbed: $(BUILD)/tests/testbed/testbed.o $(BUILD)/tests/testbed/predict.o $(LIB) $(MPI_PROGRAM)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter-out $(MPI_PROGRAM),$^) $(ALL_LDLIBS)

$(BUILD)/tests/bench/measure: $(BUILD)/tests/bench/measure.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^

fuzz:  ## every fuzzer for FUZZ_TIME (60) seconds; needs clang
	$(Q)command -v clang >/dev/null || { echo "fuzz: needs clang, which is not installed"; exit 1; }
	$(Q)$(MAKE) run-fuzzers BUILD=build-fuzz CC="$(FUZZ_CC)" CFLAGS="-O1 -g" \
	  SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"

run-fuzzers: $(FUZZ_SRC:%.c=$(BUILD)/%)
	$(Q)set -e; for fuzzer in $^; do \
	  found=$(BUILD)/corpus/$${fuzzer##*/}; seeds=tests/fuzz/corpus/$${fuzzer##*/}; \
	  mkdir -p $$found; [ -d $$seeds ] || seeds=; echo "  FUZZ  $$fuzzer"; \
	  G_DEBUG=fatal-criticals $$fuzzer -max_total_time=$(FUZZ_TIME) -timeout=2 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=$$found- $$found $$seeds; done

# FUZZ_RUNS mutated files to each importer of logs in turn, from its own seeds.
IMPORTERS := $(notdir $(wildcard tests/fuzz/corpus/fuzz_import_logs/*))
fuzz-imports:  ## FUZZ_RUNS (100000) mutated files to each importer of IMPORTERS; needs clang
	$(Q)command -v clang >/dev/null || { echo "fuzz: needs clang, which is not installed"; exit 1; }
	$(Q)$(MAKE) run-importers BUILD=build-fuzz CC="$(FUZZ_CC)" CFLAGS="-O1 -g" \
	  SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"

run-importers: $(BUILD)/tests/fuzz/fuzz_import_logs
	$(Q)set -e; for name in $(IMPORTERS); do \
	  found=$(BUILD)/corpus/import-$$name; mkdir -p $$found; echo "  FUZZ  $$name"; \
	  FUZZ_IMPORTER=$$name $< -runs=$(FUZZ_RUNS) -seed=1 -timeout=5 -verbosity=0 \
	    -print_final_stats=1 -artifact_prefix=$$found- $$found \
	    tests/fuzz/corpus/fuzz_import_logs/$$name; done

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(LIB)
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(ALL_LDLIBS)

install: all  ## into DESTDIR/PREFIX: program, manual page, completion, scenarios
	install -D -m 755 $(BUILD)/stepcast $(BIN_DIR)/stepcast
	$(if $(CUDA_WHY),,install -D -m 755 $(BUILD)/stepcast-gpu.so $(LIB_DIR)/stepcast-gpu.so)
	$(if $(MPI_PROGRAM),install -D -m 755 $(MPI_PROGRAM) $(LIB_DIR)/stepcast-mpi)
	install -D -m 644 docs/stepcast.1 $(MAN_DIR)/stepcast.1
	install -D -m 644 tools/completion.bash $(COMPLETION_DIR)/stepcast
	install -d $(SHARE_DIR)/scenarios/base
	install -m 644 $(wildcard scenarios/*.json) scenarios/README.md $(SHARE_DIR)/scenarios
	install -m 644 $(wildcard scenarios/base/*) $(SHARE_DIR)/scenarios/base
	install -m 644 README.md CHANGELOG.md LICENSE $(SHARE_DIR)

uninstall:  ## take away what install put there
	rm -f $(BIN_DIR)/stepcast $(MAN_DIR)/stepcast.1 $(COMPLETION_DIR)/stepcast
	rm -rf $(SHARE_DIR) $(LIB_DIR)

proof:  ## README's commands in a bare Debian made for it (root, debootstrap)
	tests/proof/bare-debian.sh

clean:  ## remove what was built
	rm -rf build build-*

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' Makefile | expand -t 14

-include $(LIB_SRC:%.c=$(BUILD)/%.d) $(BUILD)/sim/main.d $(wildcard $(BUILD)/tests/*/*.d)
-include $(GPU_OBJ:.o=.d) $(PLUGIN_TEST_OBJ:.o=.d)
