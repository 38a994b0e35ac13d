"""From settings to a scene, which is everything that the page draws; and recorded scenes."""
