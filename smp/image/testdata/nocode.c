int thing;
