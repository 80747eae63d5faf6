# Completion of stepcast for bash: commands, a command's options, kinds, profiles, files.
_stepcast() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} program=${COMP_WORDS[0]}
  local sub=
  [ "$command" != calibrate ] || sub=${COMP_WORDS[2]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" help 2>/dev/null |
      sed -n 's/^ *stepcast \([a-z][a-z]*\) .*/\1/p')" -- "$word")
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = calibrate ]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" calibrate --help 2>/dev/null |
      sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')" -- "$word")
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = list ]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" help 2>/dev/null |
      sed -n '/Kinds:/,$s/^  \([a-z][a-z]*\) .*/\1/p')" -- "$word")
  elif [ "${word#-}" = "$word" ] && { [ "$sub" = show ] || [ "$sub" = check ]; }; then
    mapfile -t COMPREPLY < <(compgen -f -W "$("$program" list profile 2>/dev/null |
      sed -n 's/^  \([a-z0-9_]*\) .*/\1/p')" -- "$word")
  elif [ "${word#-}" != "$word" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" $sub --help 2>/dev/null |
      grep -oE -- '--[a-z][a-z_-]+')" -- "$word")
  fi
}
complete -o default -F _stepcast stepcast
