-- SPDX-License-Identifier: BSD-3-Clause

-- Before anything is changed here.
local had = { LD_PRELOAD = os.getenv("LD_PRELOAD") or "" }

-- What the command's `env` sets: UCX_TLS, and the folder of the plugin, by whichever variable its UCX is given that. Only asked
-- when loading, as unloading needs no value.
local function ask(tool)
  if mode() ~= "load" then return "", "" end
  local program = [[e=$("$0" env) && unset UCX_MODULE_DIR UCX_PLUGIN_PATH && eval "$e" &&
    printf "%s\n" "${UCX_TLS-all}" "${UCX_MODULE_DIR-${UCX_PLUGIN_PATH%%:*}}"]]
  local answer = capture("sh -c '" .. program .. "' '" .. tool:gsub("'", "'\\''") .. "'")
  local transports, folder = (answer or ""):match("^(%S+)\n([^\n]+)")
  if not folder then LmodError(tool .. " env names no transports: see " .. tool .. " doctor") end
  return transports, folder
end

-- An empty entry stands for the system's own pages: needed where nothing else is there, left as it is elsewhere.
local function manual(folder)
  local now = os.getenv("MANPATH")
  local is_alone = now == nil or now == folder .. ":" or now == folder .. "::"
  prepend_path("MANPATH", folder)
  if is_alone then append_path("MANPATH", "") end
end

