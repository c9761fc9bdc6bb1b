-- SPDX-License-Identifier: BSD-3-Clause

-- Before anything is changed here.
local had = { LD_PRELOAD = os.getenv("LD_PRELOAD") or "" }

-- What the command's `env` sets: UCX_TLS, the folder of the plugin, by whichever variable its UCX is given that, Open MPI's filter,
-- UCX_VERITY_TRANSPARENT. Only asked when loading, as unloading needs no value.
local function ask(tool, option)
  if mode() ~= "load" then return "", "", "", "" end
  local program = [[e=$("$0" env "$@") &&
    unset UCX_TLS UCX_MODULE_DIR UCX_PLUGIN_PATH OMPI_MCA_opal_common_ucx_tls UCX_VERITY_TRANSPARENT && eval "$e" &&
    printf "%s\n" "${UCX_TLS-}" "${UCX_MODULE_DIR-${UCX_PLUGIN_PATH%%:*}}" "${OMPI_MCA_opal_common_ucx_tls-}" \
      "${UCX_VERITY_TRANSPARENT-}"]]
  local answer = capture("sh -c '" .. program .. "' '" .. tool:gsub("'", "'\\''") .. "' " .. option)
  local transports, folder, filter, names = (answer or ""):match("^([^\n]*)\n([^\n]+)\n([^\n]*)\n([^\n]*)")
  if not folder then LmodError(tool .. " env names no plugin: see " .. tool .. " doctor") end
  return transports, folder, filter, names
end

-- A mark says whether the load replaced it, and the unload has to restore it.
local function replace_some(name, value)
  local mark = "VERITY_MODULE_SET_" .. name
  if mode() == "unload" and os.getenv(mark) == nil or mode() ~= "unload" and value == "" then return end
  setenv(mark, "y")
  pushenv(name, value)
end

-- An empty entry stands for the system's own pages: needed where nothing else is there, left as it is elsewhere.
local function manual(folder)
  local now = os.getenv("MANPATH")
  local is_alone = now == nil or now == folder .. ":" or now == folder .. "::"
  prepend_path("MANPATH", folder)
  if is_alone then append_path("MANPATH", "") end
end

