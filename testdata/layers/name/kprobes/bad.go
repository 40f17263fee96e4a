package types // want name
