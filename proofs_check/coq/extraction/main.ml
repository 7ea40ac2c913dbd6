(* One case a line: integers in, integers out. *)
let () =
  try
    while true do
      let line = input_line stdin in
      let numbers =
        List.map Z.of_string (List.filter (fun s -> s <> "") (String.split_on_char ' ' line)) in
      print_endline (String.concat " " (List.map Z.to_string (Valid_oracle.oracle numbers)))
    done
  with End_of_file -> ()
